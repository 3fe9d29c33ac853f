import type { TimeRange } from '#telemetry/position/device-alignment'
import type { RadioFacts } from '#telemetry/report/rows'
import { byTimeAndModem, maxModems } from '#telemetry/report/sources'

/*
 * A row without service counts for the operator that its modem lost: its own, else that of the SIM, else that of the modem's
 * newest row with service in the 24 hours before, if the SIM is the same. Without this, an operator that is never there would
 * look perfect.
 */

/** The SIM that a modem used from a time on. */
export type SimUse = { fromMs: number; iccid: string | null; simSlot: number | null }

type Served = { tsMs: number; plmn: string }

/** What is known of a modem's service: plain JSON data of limited size. */
export type ModemService = {
  modem: string | null
  /** The newest row with service and operator. Null if there was none for a day, undefined if it is not known. */
  served: Served | null | undefined
  /** In order of time. */
  sims: SimUse[]
  /** Time of the newest row whose operator depends on `served`. */
  lostMs: number
}

const dayMs = 86_400_000
const maxSims = 16

const isServed = ({ rat }: RadioFacts): boolean => rat !== 'none'

/** Whether only earlier rows tell for which operator the row counts. */
const isLost = (row: RadioFacts): boolean => !isServed(row) && row.plmn === null && row.simPlmn === null

/** Returns the entry of a modem, the newest first in the list. The least recently used one beyond the limit leaves. */
function serviceOf(known: ModemService[], modem: string | null): ModemService {
  const at = known.findIndex((service) => service.modem === modem)
  if (at === 0) return known[0] as ModemService
  const [service = { modem, served: undefined, sims: [], lostMs: 0 }] = at > 0 ? known.splice(at, 1) : []
  known.unshift(service)
  known.length = Math.min(known.length, maxModems)
  return service
}

/**
 * Notes the SIM of a modem: the changes and the newest sample. Returns the times whose rows may have another operator, because a
 * change arrived late: align them again.
 */
export function noteSim(known: ModemService[], modem: string | null, use: SimUse): TimeRange | undefined {
  const { sims, lostMs } = serviceOf(known, modem)
  const at = sims.findLastIndex((earlier) => bySimTime(earlier, use) <= 0)
  const [before, next] = [sims[at], sims[at + 1]]
  const isChange = !before || !isSameUse(before, use)
  const isKnown = next ? !isChange || next.fromMs === use.fromMs : !isChange && before.fromMs === use.fromMs
  if (isKnown) return undefined
  if (isChange ? before?.fromMs === use.fromMs : isRepeated(sims)) sims[at] = use
  else sims.splice(at + 1, 0, use)
  if (sims.length > maxSims) sims.shift()
  const toMs = Math.min(lostMs, next?.fromMs ?? lostMs)
  return isChange && toMs >= use.fromMs ? { fromMs: use.fromMs, toMs } : undefined
}

const isSameUse = (a: SimUse, b: SimUse): boolean => a.iccid === b.iccid && a.simSlot === b.simSlot

/** Returns whether the newest sample has the SIM of the one before it. */
function isRepeated(sims: readonly SimUse[]): boolean {
  const [last, before] = [sims.at(-1), sims.at(-2)]
  return last !== undefined && before !== undefined && isSameUse(last, before)
}

/** Of two SIMs at one time, the first is no longer in use, whatever the order in which they arrive. */
export const bySimTime = (a: SimUse, b: SimUse): number =>
  a.fromMs - b.fromMs ||
  Number((a.iccid ?? '') > (b.iccid ?? '')) - Number((a.iccid ?? '') < (b.iccid ?? '')) ||
  (a.simSlot ?? -1) - (b.simSlot ?? -1)

/** Adds the SIMs that storage has from before those of the modem, and its newest service if that is not known. */
export function learnService(service: ModemService, stored: StoredService): void {
  if (service.served === undefined) service.served = stored.served
  const knownFromMs = service.sims[0]?.fromMs ?? Number.POSITIVE_INFINITY
  const before = stored.sims.filter(({ fromMs }) => fromMs < knownFromMs)
  // Nothing is known of a SIM before the first one that storage has.
  service.sims = [unknownSim, ...before, ...service.sims.filter(({ fromMs }) => fromMs > 0)].slice(-maxSims)
}

const unknownSim: SimUse = { fromMs: 0, iccid: null, simSlot: null }

const simAt = (sims: readonly SimUse[], tsMs: number): SimUse | undefined =>
  sims.findLast(({ fromMs }) => fromMs <= tsMs)

/** Two uses are of different SIMs if their serials or, without those, their slots say so. */
function isOtherSim(a: SimUse | undefined, b: SimUse | undefined): boolean {
  if (!a || !b) return false
  if (a.iccid !== null && b.iccid !== null) return a.iccid !== b.iccid
  return a.simSlot !== null && b.simSlot !== null && a.simSlot !== b.simSlot
}

/** Returns whether the operator of a row without service follows from what is known. */
const isCertain = ({ served, sims }: ModemService, { tsMs }: RadioFacts): boolean =>
  served === null ||
  (served !== undefined &&
    served.tsMs <= tsMs &&
    (simAt(sims, tsMs) === undefined || simAt(sims, served.tsMs) !== undefined))

function lostOperator({ served, sims }: ModemService, { tsMs }: RadioFacts): string | null {
  if (!served || tsMs - served.tsMs > dayMs) return null
  return isOtherSim(simAt(sims, served.tsMs), simAt(sims, tsMs)) ? null : served.plmn
}

/**
 * Sets `lostPlmn` of a report's rows, and takes them into `known`. Returns the times whose rows may have another operator,
 * because data arrived late or is not known: align them again.
 */
export function findLostOperators(known: ModemService[], samples: readonly RadioFacts[]): TimeRange[] {
  const dirty: TimeRange[] = []
  for (const row of samples.length > 1 ? [...samples].sort(byTimeAndModem) : samples) {
    const { tsMs, plmn } = row
    if (isServed(row)) {
      if (plmn === null) continue
      const service = serviceOf(known, row.modem)
      if (service.lostMs >= tsMs) dirty.push({ fromMs: tsMs, toMs: Math.min(service.lostMs, tsMs + dayMs) })
      if (!service.served || tsMs > service.served.tsMs) service.served = { tsMs, plmn }
    } else if (isLost(row)) {
      const service = serviceOf(known, row.modem)
      if (isCertain(service, row)) row.lostPlmn = lostOperator(service, row)
      else dirty.push({ fromMs: tsMs, toMs: tsMs })
      service.lostMs = Math.max(service.lostMs, tsMs)
    } else if (plmn === null) row.lostPlmn = row.simPlmn
  }
  return dirty
}

/**
 * Sets `lostPlmn` of earlier rows that are written again, from what is known by now. Returns the times of those that only storage
 * can tell.
 */
export function renewLostOperators(known: ModemService[], rows: readonly RadioFacts[]): TimeRange[] {
  const dirty: TimeRange[] = []
  for (const row of rows) {
    if (row.lostPlmn !== null || !isLost(row)) continue
    const service = serviceOf(known, row.modem)
    if (isCertain(service, row)) row.lostPlmn = lostOperator(service, row)
    else dirty.push({ fromMs: row.tsMs, toMs: row.tsMs })
  }
  return dirty
}

/** A pass over stored rows in order of time. */
export type LostOperatorPass = {
  /** Returns whether the row's operator depends on rows and SIMs from before, which `remember` has not told yet. */
  needsPast(row: RadioFacts): boolean
  /** Tells what was stored before the pass, and the SIMs until its end. */
  remember(past: readonly StoredService[]): void
  /** Returns the row with the operator that its modem lost, or the same row if it has it. */
  place<Row extends RadioFacts>(row: Row): Row
  /** What storage has of a modem until the rows so far. Undefined if no row needed it. */
  serviceOf(modem: string | null): StoredService | undefined
}

/** The newest row with service of a modem before a time, and its SIMs in order of time. */
export type StoredService = { modem: string | null; served: Served | null; sims: SimUse[] }

export function createLostOperatorPass(): LostOperatorPass {
  const services = new Map<string | null, ModemService>()
  let past: readonly StoredService[] | undefined
  const serviceIn = (modem: string | null): ModemService => {
    let service = services.get(modem)
    if (!service) {
      service = { modem, served: undefined, sims: [], lostMs: 0 }
      services.set(modem, service)
    }
    return service
  }
  return {
    needsPast: (row) => past === undefined && isLost(row),
    remember(stored) {
      past = stored
      for (const { modem, served, sims } of stored) {
        const service = serviceIn(modem)
        service.served ??= served
        service.sims = sims
      }
    },
    place(row) {
      const { tsMs, plmn } = row
      if (isServed(row)) {
        if (plmn !== null) serviceIn(row.modem).served = { tsMs, plmn }
        return row
      }
      const lostPlmn = plmn === null ? (row.simPlmn ?? lostOperator(serviceIn(row.modem), row)) : null
      return lostPlmn === row.lostPlmn ? row : { ...row, lostPlmn }
    },
    serviceOf(modem) {
      if (!past) return undefined
      const { served = null, sims = [] } = services.get(modem) ?? {}
      return { modem, served, sims }
    },
  }
}
