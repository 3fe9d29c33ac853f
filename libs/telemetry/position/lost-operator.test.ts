import { describe, expect, test } from 'vitest'
import { maxModems } from '#telemetry/report/sources'
import { cellularRow } from '#test/tracks'
import { findLostOperators, type ModemService, noteSim } from './lost-operator.ts'

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
