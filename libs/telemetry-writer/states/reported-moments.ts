import { type Quality, signalQuality } from '#telemetry/coverage/quality'
import type { CleanRow } from '#telemetry/report/rows'
import { maxModems } from '#telemetry/report/sources'
import { activeModem, type ModemReports } from '#telemetry/rows/active-modem'
import type { RowOrigin } from '#telemetry/rows/ilp'

/** What a modem reported last. `signalMs`: its newest sample with a known quality. */
type ReportedModem = ModemReports & { signalMs: number | null; quality: Quality | null }

/** What reports say about the signal and the stop of a device, for jobs that wait for a good moment. Plain data. */
export type ReportedMoment = {
  deviceId: string
  organizationId: string
  modems: ReportedModem[]
  /** Undefined if no report told it. */
  dwelling: boolean | undefined
}

export const emptyMoment = ({ deviceId, organizationId }: RowOrigin): ReportedMoment => ({
  deviceId,
  organizationId,
  modems: [],
  dwelling: undefined,
})

/** Takes a sample into the moment of its device. Samples may come in any order. */
export function noteSample({ modems }: ReportedMoment, row: CleanRow): void {
  if (row.kind !== 'cellular' && row.kind !== 'connection') return
  const { modem, tsMs } = row
  const quality = row.kind === 'cellular' ? signalQuality(row).quality : null
  foldModem(modems, {
    ...{ modem, quality, newestMs: tsMs },
    connectedMs: row.kind === 'connection' && row.state === 'connected' ? tsMs : null,
    servedMs: row.kind === 'cellular' && row.rat !== 'none' ? tsMs : null,
    signalMs: quality === null ? null : tsMs,
  })
}

/** Takes a later moment of the same device into an earlier one, which is forgotten if the device had another organization. */
export function foldMoment(earlier: ReportedMoment, later: ReportedMoment): void {
  if (earlier.organizationId !== later.organizationId) {
    Object.assign(earlier, { organizationId: later.organizationId, dwelling: later.dwelling, modems: [] })
  }
  earlier.dwelling = later.dwelling ?? earlier.dwelling
  for (const modem of later.modems) foldModem(earlier.modems, modem)
}

function foldModem(known: ReportedModem[], told: ReportedModem): void {
  const own = known.find(({ modem }) => modem === told.modem)
  if (!own) {
    known.sort((a, b) => b.newestMs - a.newestMs)
    known.length = Math.min(known.length, maxModems - 1)
    known.push({ ...told })
    return
  }
  own.newestMs = Math.max(own.newestMs, told.newestMs)
  own.connectedMs = later(own.connectedMs, told.connectedMs)
  own.servedMs = later(own.servedMs, told.servedMs)
  if (told.signalMs === null || told.signalMs < (own.signalMs ?? 0)) return
  own.signalMs = told.signalMs
  own.quality = told.quality
}

const later = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

/** Returns the newest signal of the active modem, else of the modem without a name, as the map shows it. */
export function activeSignal({ modems }: ReportedMoment): { signalAtMs: number | null; quality: Quality | null } {
  const nowMs = modems.reduce((newest, { newestMs }) => Math.max(newest, newestMs), 0)
  const active = activeModem(modems, nowMs)
  const told = active?.signalMs == null ? modems.find(({ modem }) => modem === null) : active
  return { signalAtMs: told?.signalMs ?? null, quality: told?.quality ?? null }
}
