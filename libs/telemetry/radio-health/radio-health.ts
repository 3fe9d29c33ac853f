import { countComparedDevices } from './compared-devices.ts'
import { createMedianInterval } from './interval.ts'
import { sortedMedian } from './median.ts'
import { minKnownCells, offsetsOf } from './offsets.ts'
import { hundredths } from './packed-level.ts'
import { byRadio, type Radio, rosterOf } from './roster.ts'
import { createSharedCells, type HourWindow, type SharedCells } from './shared-cells.ts'
import { dayOfStepDown } from './step-down.ts'

/** From worst to best; nothing is known of the last. */
export const radioStatuses = ['fault', 'suspect', 'ok', 'unknown'] as const
export type RadioStatus = (typeof radioStatuses)[number]

/**
 * How a radio receives beside its neighbours. `offsetDb` is its offset less that of its model, which is `modelOffsetDb`, with its
 * 95 % interval; a negative one is weak. All are null if unknown. `comparedDevices`: other devices in its shared cells.
 * `sinceAtMs`: the start of the UTC day on which a weak radio became weak; null if it was weak from the beginning.
 */
export type RadioHealth = Radio & {
  status: RadioStatus
  offsetDb: number | null
  offsetLowDb: number | null
  offsetHighDb: number | null
  sharedCells: number
  comparedDevices: number
  modelOffsetDb: number | null
  sinceAtMs: number | null
}

type Offset = { offsetDb: number; offsetLowDb: number; offsetHighDb: number }

/** Reads the shared cells of one organization, one after the other, and then finds the health of its radios, worst first. */
export type RadioComparison = Pick<SharedCells, 'addCell' | 'addSorted'> & { healthOfAll(): RadioHealth[] }

const hoursPerDay = 24
const msPerDay = 86_400_000
/** Measurements of the same hour err together: with fewer hours than this, the interval is wider by the factor. */
const minHours = 3
const fewHoursFactor = 1.5
const fault = { offsetDb: -3, offsetHighDb: -1.5, cells: 20 }
const suspectHighDb = -1

/** Rounds to hundredths of a dB. Without a negative zero. */
const roundedDb = (value: number): number => Math.round(value) / hundredths + 0

function statusOf({ offsetDb, offsetHighDb }: Offset, cells: number): RadioStatus {
  const isFault = offsetDb <= fault.offsetDb && offsetHighDb < fault.offsetHighDb && cells >= fault.cells
  if (isFault) return 'fault'
  return offsetHighDb < suspectHighDb ? 'suspect' : 'ok'
}

type Facts = { modelOffset: number; hours: number; interval: { low: number; high: number } }

/** The offset of a radio with these differences, less that of its model, all in hundredths of a dB. */
function offsetOf(differences: Float32Array, { modelOffset, hours, interval: { low, high } }: Facts): Offset {
  const median = sortedMedian(differences, differences.length)
  const factor = hours < minHours ? fewHoursFactor : 1
  return {
    offsetDb: roundedDb(median - modelOffset),
    offsetLowDb: roundedDb(median - modelOffset - factor * (median - low)),
    offsetHighDb: roundedDb(median - modelOffset + factor * (high - median)),
  }
}

const worstFirst = (a: RadioHealth, b: RadioHealth): number =>
  radioStatuses.indexOf(a.status) - radioStatuses.indexOf(b.status) ||
  (a.offsetDb ?? 0) - (b.offsetDb ?? 0) ||
  byRadio(a, b)

/**
 * Compares the radios of one organization with each other, each of them given once. Rows of cells name a radio by its index.
 * Memory: at most 8 bytes a radio and shared cell, 10 with more than 32,768 radios, and 2 KB a radio in a window of 30 days.
 */
export function createRadioComparison(radios: readonly Radio[], window: HourWindow): RadioComparison {
  const roster = rosterOf(radios)
  const { addCell, addSorted, cells, days, hours } = createSharedCells(roster, window)
  const firstDay = Math.floor(window.fromHour / hoursPerDay)

  function sinceAtMsOf(rank: number): number | null {
    const day = dayOfStepDown(days.levelsOf(rank))
    return day === null ? null : (firstDay + day) * msPerDay
  }

  return {
    addCell,
    addSorted,
    healthOfAll() {
      // Both lists are large, and the first one is not needed any more when the second one is written.
      const memory = new ArrayBuffer(cells.length * Uint32Array.BYTES_PER_ELEMENT)
      const comparedDevices = countComparedDevices(cells, roster, new Uint32Array(memory))
      const { differences, modelOffsets } = offsetsOf(cells, roster, new Float32Array(memory))
      const healthOf = (radio: Radio, rank: number): RadioHealth => {
        const modelOffset = modelOffsets[rank] ?? Number.NaN
        const facts = {
          ...radio,
          sharedCells: differences.countOf(rank),
          comparedDevices: comparedDevices[rank] ?? 0,
          modelOffsetDb: Number.isNaN(modelOffset) ? null : roundedDb(modelOffset),
        }
        const unknown = { offsetDb: null, offsetLowDb: null, offsetHighDb: null, sinceAtMs: null }
        if (facts.sharedCells < minKnownCells) return { ...facts, ...unknown, status: 'unknown' }
        const own = differences.of(rank)
        const offset = offsetOf(own, { modelOffset, hours: hours[rank] ?? 0, interval: medianInterval(own) })
        const status = statusOf(offset, facts.sharedCells)
        return { ...facts, ...offset, status, sinceAtMs: status === 'ok' ? null : sinceAtMsOf(rank) }
      }
      const medianInterval = createMedianInterval()
      const byCount = roster.radios.map((radio, rank) => ({ radio, rank, count: differences.countOf(rank) }))
      byCount.sort((a, b) => a.count - b.count)
      return byCount.map(({ radio, rank }) => healthOf(radio, rank)).sort(worstFirst)
    },
  }
}
