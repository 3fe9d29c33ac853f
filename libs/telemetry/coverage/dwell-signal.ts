import { addTo } from '#core/counts'
import { dbBin, nearestRank } from './coverage.ts'

/** Signal during a dwell. Medians are nearest rank over whole dB, null where nothing was measured. */
export type DwellSignal = { rsrpP50Dbm: number | null; sinrP50Db: number | null; noServiceS: number }

type RadioSample = {
  tsMs: number
  modem?: string | null
  rat: string | null
  rsrpDbm: number | null
  sinrDb: number | null
}

function median(values: readonly (number | null)[]): number | null {
  const histogram = new Map<number, number>()
  for (const value of values) if (value !== null) addTo(histogram, dbBin(value))
  return nearestRank(histogram, 0.5)
}

/** A modem has service, or has none, from a sample to the next one. */
export type ServiceStretch = { fromMs: number; toMs: number; isServed: boolean }

/** Returns the time in which a modem was without service and none of the others had service. */
export function noServiceMs(stretches: readonly ServiceStretch[]): number {
  const edges = stretches
    .flatMap(({ fromMs, toMs, isServed }) => [
      { atMs: fromMs, isServed, change: 1 },
      { atMs: toMs, isServed, change: -1 },
    ])
    .sort((a, b) => a.atMs - b.atMs)
  let [served, dark, sumMs, beforeMs] = [0, 0, 0, 0]
  for (const { atMs, isServed, change } of edges) {
    if (dark > 0 && served === 0) sumMs += atMs - beforeMs
    if (isServed) served += change
    else dark += change
    beforeMs = atMs
  }
  return sumMs
}

/**
 * Returns the signal during a dwell from its RF samples in order. Time without service is the time from each sample
 * without service to the modem's next sample, unless another modem had service.
 */
export function dwellSignal(samples: readonly RadioSample[]): DwellSignal {
  const inService = samples.filter(({ rat }) => rat !== 'none')
  const stretches = [...Map.groupBy(samples, ({ modem }) => modem ?? null).values()].flatMap((ofModem) =>
    ofModem.map(({ tsMs, rat }, index) => ({
      fromMs: tsMs,
      toMs: ofModem[index + 1]?.tsMs ?? tsMs,
      isServed: rat !== 'none',
    })),
  )
  return {
    rsrpP50Dbm: median(inService.map(({ rsrpDbm }) => rsrpDbm)),
    sinrP50Db: median(inService.map(({ sinrDb }) => sinrDb)),
    noServiceS: noServiceMs(stretches) / 1000,
  }
}
