import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanSample } from '#telemetry/report/clean'
import { activeSignal, emptyMoment, foldMoment, noteSample, type ReportedMoment } from './reported-moments.ts'

const origin = { deviceId: 'd', organizationId: 'o', receivedAtMs: 0 }
const startMs = Date.UTC(2026, 10, 28)

type Sample = { kind: 'cellular' | 'connection'; tsMs: number; sample: Record<string, unknown> }
const rowOf = ({ kind, tsMs, sample }: Sample) =>
  cleanSample({ kind, tsMs, tsCorrected: false, index: 0, shiftMs: 0, sample }, () => {})

function momentOf(samples: readonly Sample[]): ReportedMoment {
  const moment = emptyMoment(origin)
  for (const sample of samples) noteSample(moment, rowOf(sample))
  return moment
}

const at = (second: number) => startMs + second * 1_000
const cellular = (second: number, sample: Sample['sample']): Sample => ({ kind: 'cellular', tsMs: at(second), sample })
const connected = (second: number, modem: string): Sample => ({
  kind: 'connection',
  tsMs: at(second),
  sample: { modem, state: 'connected' },
})

test('the newest sample with a known quality is the signal', () => {
  const moment = momentOf([
    cellular(1, { rat: 'lte', rsrpDbm: -80 }),
    cellular(3, { rat: 'lte', rsrpDbm: -112 }),
    cellular(4, { rat: 'lte', pci: 7 }),
    cellular(2, { rat: 'lte', rsrpDbm: -90 }),
  ])
  expect(activeSignal(moment)).toEqual({ signalAtMs: at(3), quality: 'poor' })
})

test('no service is a signal, of the worst quality', () => {
  expect(activeSignal(momentOf([cellular(1, { rat: 'none' })]))).toEqual({
    signalAtMs: at(1),
    quality: 'none',
  })
})

test('the active modem decides, also with the weaker signal', () => {
  const signals = [
    cellular(1, { modem: 'a', rat: 'lte', rsrpDbm: -112 }),
    cellular(1, { modem: 'b', rat: 'lte', rsrpDbm: -70 }),
  ]
  expect(activeSignal(momentOf([...signals, connected(1, 'a')])).quality).toBe('poor')
  expect(activeSignal(momentOf([...signals, connected(1, 'a'), connected(2, 'b')])).quality).toBe('excellent')
})

test('a signal without a modem counts beside connections that name one', () => {
  const moment = momentOf([cellular(1, { rat: 'lte', rsrpDbm: -70 }), connected(2, 'wwan0')])
  expect(activeSignal(moment).quality).toBe('excellent')
})

test('without samples there is no signal', () => {
  expect(activeSignal(emptyMoment(origin))).toEqual({ signalAtMs: null, quality: null })
})

test('what a device reported to another organization is forgotten', () => {
  const moment = { ...momentOf([cellular(1, { rat: 'lte', rsrpDbm: -70 })]), dwelling: true }
  foldMoment(moment, { ...emptyMoment({ ...origin, organizationId: 'other' }), dwelling: undefined })
  expect(activeSignal(moment)).toEqual({ signalAtMs: null, quality: null })
  expect(moment.dwelling).toBeUndefined()
})

const samples = fc.uniqueArray(
  fc.record({
    second: fc.integer({ min: 0, max: 2_000 }),
    modem: fc.constantFrom('a', 'b', 'c'),
    rsrpDbm: fc.option(fc.integer({ min: -125, max: -60 })),
    isConnected: fc.boolean(),
  }),
  // Of two samples of a modem at the same time either may be the newest.
  { selector: ({ second, modem }) => `${second} ${modem}`, maxLength: 20 },
)

test('in any order, and in any pieces, the same samples are the same moment', () => {
  fc.assert(
    fc.property(samples, fc.integer({ min: 0, max: 20 }), fc.infiniteStream(fc.nat()), (drawn, cut, keys) => {
      const all = drawn.map(({ second, modem, rsrpDbm, isConnected }) =>
        isConnected
          ? connected(second, modem)
          : cellular(second, { modem, rat: 'lte', ...(rsrpDbm === null ? {} : { rsrpDbm }) }),
      )
      const keyed = all.map((sample) => ({ sample, key: keys.next().value }))
      const shuffled = keyed.sort((a, b) => a.key - b.key).map(({ sample }) => sample)
      const [first, second] = [momentOf(shuffled.slice(0, cut)), momentOf(shuffled.slice(cut))]
      foldMoment(first, { ...second, dwelling: true })
      expect(activeSignal(first)).toEqual(activeSignal(momentOf(all)))
      expect(first.dwelling).toBe(true)
    }),
  )
})
