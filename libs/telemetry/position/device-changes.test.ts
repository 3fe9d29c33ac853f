import { expect, test } from 'vitest'
import { type CellularState, handoversOf, type SystemState, systemChangesOf } from './device-changes.ts'

const cell = (tsMs: number, fields: Partial<CellularState> = {}): CellularState => ({
  ...{ tsMs, modem: null, rat: 'lte', plmn: '26201', operatorName: 'A', cellId: '1' },
  ...fields,
})
const system = (tsMs: number, fields: Partial<SystemState> = {}): SystemState => ({
  ...{ tsMs, uptimeS: tsMs / 1_000, rebootReason: null, fault: null },
  ...fields,
})
const actions = (changes: { tsMs: number; action: string }[]) => changes.map(({ tsMs, action }) => [tsMs, action])

test('changes of cell, technology and operator, and the loss of service, are told apart', () => {
  const samples = [
    cell(0),
    cell(1),
    cell(2, { cellId: '2' }),
    cell(3, { cellId: '3', rat: 'nr-sa' }),
    cell(4, { cellId: '4', rat: 'nr-sa', plmn: '26202' }),
    cell(5, { cellId: null, rat: 'none', plmn: null }),
    cell(6, { cellId: '4', rat: 'lte', plmn: '26202' }),
  ]
  expect(actions(handoversOf(samples))).toEqual([
    [2, 'cell_changed'],
    [3, 'technology_changed'],
    [4, 'operator_changed'],
    [5, 'service_lost'],
    [6, 'service_restored'],
  ])
  expect(handoversOf(samples)[0]?.detail).toEqual({
    from: { rat: 'lte', plmn: '26201', operatorName: 'A', cellId: '1' },
    to: { rat: 'lte', plmn: '26201', operatorName: 'A', cellId: '2' },
  })
})

test('a sample without radio fields is no handover, and does not hide the next one', () => {
  const empty = cell(1, { rat: null, plmn: null, operatorName: null, cellId: null })
  expect(handoversOf([cell(0), empty, cell(2)])).toEqual([])
  expect(actions(handoversOf([cell(0), empty, cell(2, { cellId: '2' })]))).toEqual([[2, 'cell_changed']])
})

test('each modem is compared with itself, and both can change in one millisecond', () => {
  const second = { modem: 'wwan1', plmn: '26202', cellId: '7' }
  const samples = [0, 1, 2, 3].flatMap((tsMs) => [cell(tsMs, { modem: 'wwan0' }), cell(tsMs, second)])
  expect(handoversOf(samples)).toEqual([])
  const changed = [cell(4, { modem: 'wwan0', cellId: '2' }), cell(4, { ...second, cellId: '8' })]
  expect(handoversOf([...samples, ...changed])).toMatchObject([
    { tsMs: 4, action: 'cell_changed', modem: 'wwan0', detail: { from: { cellId: '1' }, to: { cellId: '2' } } },
    { tsMs: 4, action: 'cell_changed', modem: 'wwan1', detail: { from: { cellId: '7' }, to: { cellId: '8' } } },
  ])
})

test('a lower uptime is a reboot, also behind a sample without uptime', () => {
  const minute = 60_000
  const before = system(60 * minute, { uptimeS: 3_600 })
  const after = system(62 * minute, { uptimeS: 30, rebootReason: 'watchdog' })
  const detail = { uptimeS: 30, reason: 'watchdog' }
  const reboot = { tsMs: 62 * minute, kind: 'reboot', action: 'rebooted', modem: null, detail }
  expect(systemChangesOf([before, after])).toEqual([reboot])
  expect(systemChangesOf([before, system(61 * minute, { uptimeS: null }), after])).toEqual([reboot])
})

test('after a long silence, an uptime that is too low for the time is a reboot', () => {
  const hour = 3_600_000
  expect(actions(systemChangesOf([system(hour, { uptimeS: 600 }), system(5 * hour, { uptimeS: 7_200 })]))).toEqual([
    [5 * hour, 'rebooted'],
  ])
  expect(
    systemChangesOf([system(hour, { uptimeS: 600 }), system(5 * hour, { uptimeS: 600 + 4 * 3_600 - 60 })]),
  ).toEqual([])
})

test('faults begin, change and end', () => {
  const samples = [
    system(1_000),
    system(2_000, { fault: 'modem' }),
    system(3_000, { fault: 'modem' }),
    system(4_000, { fault: 'sim' }),
    system(5_000),
  ]
  expect(systemChangesOf(samples).map(({ tsMs, action, detail }) => [tsMs, action, detail.fault])).toEqual([
    [2_000, 'fault_reported', 'modem'],
    [4_000, 'fault_reported', 'sim'],
    [5_000, 'fault_ended', 'sim'],
  ])
})
