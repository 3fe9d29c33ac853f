import { expect, test } from 'vitest'
import { completeSample } from './completed.ts'
import type { TelemetryRecord } from './records.ts'

const sample = (second: number, fields: Record<string, unknown>): { tsMs: number; record: TelemetryRecord } => ({
  tsMs: second * 1_000,
  record: { ts: `${second}`, kind: 'cellular', ...empty, ...fields },
})
const empty = {
  modem: null,
  rat: null,
  plmn: null,
  cellId: null,
  pci: null,
  rsrpDbm: null,
  sinrDb: null,
  rsrqDb: null,
  apn: null,
}
const cell = (cellId: string) => ({ rat: 'lte', plmn: '26201', cellId })

const completed = (newest: ReturnType<typeof sample>, ...earlier: ReturnType<typeof sample>[]) => {
  const { rsrpDbm, sinrDb, rsrqDb, cellId, completedFrom } = completeSample(newest, earlier).record
  return { rsrpDbm, sinrDb, rsrqDb, cellId, completedFrom }
}

test('a value without a cell is of the cell that was named last before it', () => {
  // The values at 8 and 9 s may be from before the change.
  const changed = completed(
    sample(10, { ...cell('8'), rsrqDb: -9 }),
    sample(9, { sinrDb: 20 }),
    sample(8, { rsrpDbm: -80 }),
    sample(5, cell('7')),
  )
  expect(changed).toEqual({ rsrpDbm: null, sinrDb: null, rsrqDb: -9, cellId: '8', completedFrom: null })
  const kept = completed(
    sample(10, { rsrqDb: -9 }),
    sample(9, { sinrDb: 20 }),
    sample(5, cell('7')),
    sample(4, { rsrpDbm: -80 }),
    sample(3, cell('6')),
    sample(2, { rsrpDbm: -70 }),
  )
  expect(kept).toEqual({ rsrpDbm: null, sinrDb: 20, rsrqDb: -9, cellId: '7', completedFrom: '5' })
})

const link = (second: number, fields: Record<string, unknown>): { tsMs: number; record: TelemetryRecord } => ({
  tsMs: second * 1_000,
  record: { ts: `${second}`, kind: 'connection', modem: null, ...noLink, ...fields },
})
const noLink = {
  state: null,
  simSlot: null,
  iccid: null,
  imsi: null,
  simPlmn: null,
  apn: null,
  wanIp: null,
  uptimeS: null,
}
const connected = { state: 'connected', simSlot: 1, iccid: '89A', imsi: '26201', simPlmn: '26201', apn: 'web' }
const session = { wanIp: '10.0.0.1', uptimeS: 500 }

test.each([
  ['another slot', { state: 'disconnected', simSlot: 2 }, {}],
  ['another SIM', { state: 'connected', iccid: '89B' }, { simSlot: null }],
  ['another subscriber', { state: 'connected', imsi: '26202' }, { iccid: null }],
  [
    'another state',
    { state: 'disconnected' },
    { simSlot: 1, iccid: '89A', imsi: '26201', simPlmn: '26201', apn: null, wanIp: null },
  ],
  ['no change', { state: 'connected', simSlot: 1 }, { ...connected, ...session }],
  ['nothing about SIM and state', {}, { ...connected, ...session }],
])('a connection with %s takes no values of the SIM or session before', (_what, newest, expected) => {
  const { record } = completeSample(link(90, newest), [link(50, { ...connected, ...session })])
  expect(record).toMatchObject({ ...noLink, ...newest, ...expected })
})

test('a connection takes no values from before a change of the SIM that was changed back', () => {
  const found = completeSample(link(90, { simSlot: 1 }), [link(80, { simSlot: 2 }), link(70, connected)])
  expect(found.record).toMatchObject({ iccid: null, imsi: null, apn: null })
})

test('a connection takes no values of another interface', () => {
  const [wan, wwan] = [{ interface: 'eth1' }, { interface: 'wwan0' }]
  const earlier = [link(80, { ...wan, latencyMs: 9, wanIp: '10.0.0.9' }), link(70, { ...wwan, wanIp: '10.0.0.1' })]
  const found = completeSample(link(90, { ...wwan, latencyMs: null }), earlier)
  expect(found.record).toMatchObject({ latencyMs: null, wanIp: '10.0.0.1', completedFrom: '70' })
})

test('values before the first cell that was named are of that cell', () => {
  const found = completed(sample(10, cell('7')), sample(9, { sinrDb: 20 }), sample(8, { rsrpDbm: -80 }))
  expect(found).toEqual({ rsrpDbm: -80, sinrDb: 20, rsrqDb: null, cellId: '7', completedFrom: '8' })
})

test.each([
  ['technology', { rat: 'lte' }, { rat: 'nr-nsa' }],
  ['operator', { plmn: '26201' }, { plmn: '26202' }],
  ['cell', { cellId: '7' }, { cellId: '8' }],
  ['physical cell', { pci: 7 }, { pci: 8 }],
])('values are not taken from before a change of the %s', (_, before, now) => {
  const measured = { rsrpDbm: -80, apn: 'web' }
  const found = completeSample(sample(10, now), [sample(9, { ...before, ...measured })]).record
  expect(found).toMatchObject({ ...now, rsrpDbm: null, apn: 'web', completedFrom: '9' })
  // Also if one sample in between says so.
  const later = completeSample(sample(10, {}), [sample(9, now), sample(8, { ...before, ...measured })]).record
  expect(later).toMatchObject({ ...now, rsrpDbm: null, completedFrom: '8' })
  expect(completeSample(sample(10, before), [sample(9, { ...before, ...measured })]).record.rsrpDbm).toBe(-80)
})

test('a sample without service has no values of the cell that was lost, also if none was named', () => {
  const measured = { rsrpDbm: -80, plmn: '26201' }
  const found = completeSample(sample(10, { rat: 'none' }), [sample(9, measured)]).record
  expect(found).toMatchObject({ rat: 'none', rsrpDbm: null, plmn: null, completedFrom: null, quality: 'none' })
  const still = completeSample(sample(10, { rat: 'none' }), [sample(9, { rat: 'none', plmn: '26201' })]).record
  expect(still).toMatchObject({ plmn: '26201', completedFrom: '9' })
})

test('values are at most two minutes older', () => {
  const [old, tooOld] = [sample(10, { rsrpDbm: -80 }), { ...sample(10, { sinrDb: 3 }), tsMs: 9_999 }]
  expect(completed(sample(130, { rsrqDb: -9 }), old, tooOld)).toEqual({
    ...{ rsrpDbm: -80, sinrDb: null, rsrqDb: -9, cellId: null, completedFrom: '10' },
  })
})
