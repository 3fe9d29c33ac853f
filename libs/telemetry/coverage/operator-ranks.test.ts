import { expect, test } from 'vitest'
import { rankOperators } from './operator-ranks.ts'

const served = (plmn: string, votes: number, rsrpBin: number | null = -90) => ({ plmn, isServed: true, rsrpBin, votes })
const lost = (plmn: string, votes: number) => ({ plmn, isServed: false, rsrpBin: null, votes })
const order = (votes: Parameters<typeof rankOperators>[0]) => rankOperators(votes).map(({ plmn }) => plmn)

test('the share of votes with service decides, then the median, then the number of votes', () => {
  expect(order([served('20401', 9, -60), lost('20401', 1), served('20402', 10, -110)])).toEqual(['20402', '20401'])
  expect(order([served('20401', 10, -95), served('20402', 10, -85)])).toEqual(['20402', '20401'])
  expect(order([served('20402', 10), served('20401', 20)])).toEqual(['20401', '20402'])
  expect(order([served('20402', 10), served('20401', 10)])).toEqual(['20401', '20402'])
  expect(order([served('20401', 10, null), served('20402', 10, -140)])).toEqual(['20402', '20401'])
})

test('an operator with fewer than five votes comes after one that failed often', () => {
  expect(order([served('20401', 4), served('20402', 1), lost('20402', 9)])).toEqual(['20402', '20401'])
})

test('the summary counts what the operator did not cover', () => {
  expect(rankOperators([served('20401', 6, -90), served('20401', 3, -80), lost('20401', 1)])).toMatchObject([
    { plmn: '20401', samples: 10, serviceRatio: 0.9, noServiceS: 60, rsrpDbm: { p10: -90, p50: -90, p90: -80 } },
  ])
  expect(rankOperators([lost('20401', 7)])).toMatchObject([{ serviceRatio: 0, rsrpDbm: { p50: null } }])
})
