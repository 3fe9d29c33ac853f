import { addTo } from '#core/counts'
import { dbBin, nearestRank } from './coverage.ts'

/** Signal during a dwell. Medians are nearest rank over whole dB, null where nothing was measured. */
export type DwellSignal = { rsrpP50Dbm: number | null; sinrP50Db: number | null; noServiceS: number }

type RadioSample = { tsMs: number; rat: string | null; rsrpDbm: number | null; sinrDb: number | null }

function median(values: readonly (number | null)[]): number | null {
  const histogram = new Map<number, number>()
  for (const value of values) if (value !== null) addTo(histogram, dbBin(value))
  return nearestRank(histogram, 0.5)
}

/**
 * Returns the signal during a dwell from its RF samples in order. Time without service is the time from each sample
 * without service to the next sample.
 */
export function dwellSignal(samples: readonly RadioSample[]): DwellSignal {
  const inService = samples.filter(({ rat }) => rat !== 'none')
  const noServiceMs = samples.reduce((sum, { tsMs, rat }, index) => {
    const next = samples[index + 1]
    return rat === 'none' && next !== undefined ? sum + next.tsMs - tsMs : sum
  }, 0)
  return {
    rsrpP50Dbm: median(inService.map(({ rsrpDbm }) => rsrpDbm)),
    sinrP50Db: median(inService.map(({ sinrDb }) => sinrDb)),
    noServiceS: noServiceMs / 1000,
  }
}
