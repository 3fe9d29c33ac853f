import { expect, test } from 'vitest'
import { completeSample } from './completed.ts'
import type { TelemetryRecord } from './records.ts'

const sample = (second: number, fields: Record<string, unknown>): { tsMs: number; record: TelemetryRecord } => ({
  tsMs: second * 1_000,
  record: { ts: `${second}`, kind: 'cellular', ...empty, ...fields },
})
const empty = { modem: null, rat: null, plmn: null, cellId: null, rsrpDbm: null, sinrDb: null, rsrqDb: null, apn: null }
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
