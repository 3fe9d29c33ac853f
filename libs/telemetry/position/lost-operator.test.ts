import { describe, expect, test } from 'vitest'
import { maxModems } from '#telemetry/report/sources'
import { cellularRow } from '#test/tracks'
import { findLostOperators, learnService, type ModemService, noteSim } from './lost-operator.ts'

const startMs = Date.UTC(2026, 0, 1)
const dayMs = 86_400_000
const row = (ms: number, fields: Parameters<typeof cellularRow>[1]) => cellularRow(startMs + ms, fields)
const served = (ms: number, plmn: string, modem: string | null = null) => row(ms, { modem, rat: 'lte', plmn })
const lost = (ms: number, fields: Parameters<typeof cellularRow>[1] = {}) => row(ms, { rat: 'none', ...fields })
const sim = (ms: number, iccid: string | null, simSlot: number | null) => ({ fromMs: startMs + ms, iccid, simSlot })

/** A device of which storage has nothing. */
const known = (): ModemService[] => [{ modem: null, served: null, sims: [], lostMs: 0 }]

test.each([
  ['the one with service last', [served(0, '26201'), served(1, '26202')], lost(2), '26202'],
  ['that of the SIM, if the row has it', [served(0, '26201')], lost(1, { simPlmn: '26203' }), '26203'],
  ['no other one than the row names', [served(0, '26201')], lost(1, { plmn: '26202', simPlmn: '26203' }), null],
  ['one with service a day before', [served(0, '26201')], lost(dayMs), '26201'],
  ['none with service longer ago', [served(0, '26201')], lost(dayMs + 1), null],
  ['none, if there was none', [row(0, { rat: 'lte' }), lost(1)], lost(2), null],
])('a row without service counts for %s', (_, before, last, plmn) => {
  expect(findLostOperators(known(), [...before, last])).toEqual([])
  expect(last.lostPlmn).toBe(plmn)
})

test.each([
  ['another serial', sim(0, '89A', 1), sim(1, '89B', 1), null],
  ['another slot', sim(0, null, 1), sim(1, null, 2), null],
  ['another slot, of which one serial is unknown', sim(0, '89A', 1), sim(1, null, 2), null],
  ['the same serial in another slot', sim(0, '89A', 1), sim(1, '89A', 2), '26201'],
  ['the same slot, of which one serial is unknown', sim(0, '89A', 1), sim(1, null, 1), '26201'],
  ['nothing known about either', sim(0, null, null), sim(1, null, null), '26201'],
])('with a SIM of %s', (_, before, present, plmn) => {
  const modems = known()
  for (const use of [before, present]) noteSim(modems, null, use)
  const last = lost(2)
  findLostOperators(modems, [served(0, '26201'), last])
  expect(last.lostPlmn).toBe(plmn)
})

describe('of a modem that switches its SIM', () => {
  const [a, b] = [(ms: number) => sim(ms, '89A', 1), (ms: number) => sim(ms, '89B', 2)]

  test.each([
    ['in order', [a(0), a(2), b(4), b(6), a(8), a(9)]],
    ['with a SIM between samples of another that arrives late', [a(0), a(2), a(8), a(9), b(4), b(6)]],
    ['in reverse', [a(9), a(8), b(6), b(4), a(2), a(0)]],
    ['twice', [a(0), b(4), a(0), b(4), b(6), a(8), a(9), b(6)]],
  ])('and back, %s, a row counts for the SIM of its time', (_, uses) => {
    const modems = known()
    for (const use of uses) noteSim(modems, null, use)
    const rows = [lost(3), lost(4), lost(6), lost(9)]
    expect(findLostOperators(modems, [served(1, '26201'), ...rows])).toEqual([])
    expect(rows.map(({ lostPlmn }) => lostPlmn)).toEqual(['26201', null, null, '26201'])
  })

  test('rows that a late switch may change are aligned again', () => {
    const modems = known()
    for (const use of [a(0), a(8)]) noteSim(modems, null, use)
    findLostOperators(modems, [served(1, '26201'), lost(9)])
    expect(noteSim(modems, null, a(3))).toBeUndefined()
    expect(noteSim(modems, null, b(4))).toEqual({ fromMs: startMs + 4, toMs: startMs + 8 })
  })

  test('in two slots at one time, the order does not matter', () => {
    const plmnsOf = (uses: ReturnType<typeof a>[]) => {
      const modems = known()
      for (const use of uses) noteSim(modems, null, use)
      const rows = [lost(5), lost(6)]
      findLostOperators(modems, [served(1, '26201'), ...rows])
      return rows.map(({ lostPlmn }) => lostPlmn)
    }
    expect(plmnsOf([a(0), a(5), b(5), a(6)])).toEqual([null, '26201'])
    expect(plmnsOf([a(0), b(5), a(5), a(6)])).toEqual([null, '26201'])
  })

  test('before anything is known, a switch is read from storage', () => {
    const modems: ModemService[] = []
    noteSim(modems, null, b(2))
    const [first, second] = [lost(3), lost(4)]
    expect(findLostOperators(modems, [served(1, '26201'), first])).toEqual([{ fromMs: startMs + 3, toMs: startMs + 3 }])
    for (const service of modems) learnService(service, { modem: null, served: null, sims: [a(0), b(2)] })
    expect(findLostOperators(modems, [second])).toEqual([])
    expect([first.lostPlmn, second.lostPlmn]).toEqual([null, null])
    noteSim(modems, null, a(5))
    const back = lost(6)
    expect(findLostOperators(modems, [back])).toEqual([])
    expect(back.lostPlmn).toBe('26201')
  })

  test('after storage has told that there was no SIM before, nothing is read again', () => {
    const modems: ModemService[] = []
    noteSim(modems, null, b(2))
    findLostOperators(modems, [served(1, '26201'), lost(3)])
    for (const service of modems) learnService(service, { modem: null, served: null, sims: [b(2)] })
    const last = lost(4)
    expect(findLostOperators(modems, [last])).toEqual([])
    expect(last.lostPlmn).toBe('26201')
  })
})

describe('of a device with many modems', () => {
  const names = Array.from({ length: maxModems }, (_, index) => `wwan${index}`)

  test('the least recently used one is forgotten, and its rows are read from storage', () => {
    const modems: ModemService[] = []
    for (const name of names) findLostOperators(modems, [served(0, '26201', name)])
    findLostOperators(modems, [served(1, '26201', 'wwan0')])
    findLostOperators(modems, [served(2, '26202', 'another')])
    expect(modems).toHaveLength(maxModems)
    const [used, forgotten] = [lost(3, { modem: 'wwan0' }), lost(3, { modem: 'wwan1' })]
    expect(findLostOperators(modems, [used])).toEqual([])
    expect(findLostOperators(modems, [forgotten])).toEqual([{ fromMs: startMs + 3, toMs: startMs + 3 }])
    expect([used.lostPlmn, forgotten.lostPlmn]).toEqual(['26201', null])
  })
})
