import { ofOwners, type RowOwners } from '#questdb/server/owned-only'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/server/sql'
import { newestValue, type ValueSpan } from './newest-value.ts'

export const momentKinds = ['rebooted', 'sim_changed', 'operator_changed'] as const
export type MomentKind = (typeof momentKinds)[number]

/**
 * What a modem, or a device (modem ''), has now: `value` tells values apart and `shown` is what people see. `seenMs`: the time
 * of the sample that shows it. `momentMs`: since when it is so. `isNew`: it was not so earlier in the last 24 hours.
 */
export type Observed = {
  organizationId: string
  deviceId: string
  modem: string
  value: string
  shown: Record<string, unknown>
  seenMs: number
  momentMs: number
  isNew: boolean
}

// Other organizations wait meanwhile. QuestDB stops the statement then.
const maxReadMs = 15_000
const dayMs = 86_400_000
// Clocks of devices may be ahead.
const aheadMs = 5 * 60_000

/** What the samples of the last 24 hours show of the devices of these organizations. */
export async function readMoments(
  questdb: QuestdbSql,
  kind: MomentKind,
  owners: RowOwners,
  nowMs: number,
): Promise<Observed[]> {
  const range = { fromMs: nowMs - dayMs, toMs: nowMs + aheadMs }
  const times = [timestampParameter(range.fromMs), timestampParameter(range.toMs)]
  const table = kind === 'rebooted' ? 'system' : sources[kind].table
  const where = `ts >= $1 AND ts < $2 AND ${await ofOwners(questdb, owners, [table], range)}`
  if (kind === 'rebooted') return readStarts(questdb, where, times)
  return readValues(questdb, kind, where, times)
}

type StartRow = [organizationId: string, deviceId: string, seenMs: number, uptimeS: number, reason: string | null]

/** When each device started: its newest uptime before the time of the sample. */
async function readStarts(questdb: QuestdbSql, where: string, times: SqlValue[]): Promise<Observed[]> {
  const rows = await questdb.queryArrays<StartRow>(
    `SELECT org_id, device_id, max(ts), last(uptime_s), last(reboot_reason)
     FROM system WHERE ${where} AND uptime_s IS NOT NULL`,
    times,
    AbortSignal.timeout(maxReadMs),
  )
  return rows.map(([organizationId, deviceId, seenMs, uptimeS, reason]) => {
    const momentMs = Math.round(seenMs - uptimeS * 1_000)
    const shown = { uptimeS, reason }
    return { organizationId, deviceId, modem: '', value: String(momentMs), shown, seenMs, momentMs, isNew: true }
  })
}

/** Where the values of modems are. An operator counts while the modem has service. */
const sources = {
  sim_changed: { table: 'connection', value: 'iccid', label: 'iccid', present: 'iccid IS NOT NULL' },
  operator_changed: {
    table: 'cellular',
    value: 'plmn',
    label: 'operator_name',
    present: "plmn IS NOT NULL AND (rat IS NULL OR rat <> 'none')",
  },
}

/** Everyone who reads alerts sees the end of a SIM's number only. */
const shownOf = (kind: keyof typeof sources, value: string, label: string | null): Record<string, unknown> =>
  kind === 'sim_changed' ? { iccid: value.slice(-4).padStart(value.length, '*') } : { plmn: value, operatorName: label }

type ValueRow = [
  organizationId: string,
  deviceId: string,
  modem: string | null,
  value: string,
  label: string | null,
  firstMs: number,
  lastMs: number,
]
type Modem = Pick<Observed, 'organizationId' | 'deviceId' | 'modem'> & {
  spans: (ValueSpan & { label: string | null })[]
}

async function readValues(
  questdb: QuestdbSql,
  kind: keyof typeof sources,
  where: string,
  times: SqlValue[],
): Promise<Observed[]> {
  const { table, value: column, label: labelColumn, present } = sources[kind]
  const rows = await questdb.queryArrays<ValueRow>(
    `SELECT org_id, device_id, modem, ${column}, last(${labelColumn}), min(ts), max(ts)
     FROM ${table} WHERE ${where} AND ${present} GROUP BY org_id, device_id, modem, ${column}`,
    times,
    AbortSignal.timeout(maxReadMs),
  )
  const modems = new Map<string, Modem>()
  for (const [organizationId, deviceId, name, value, label, firstMs, lastMs] of rows) {
    const modem = name ?? ''
    const key = `${organizationId} ${deviceId} ${modem}`
    const known = modems.get(key) ?? { organizationId, deviceId, modem, spans: [] }
    known.spans.push({ value, label, firstMs, lastMs })
    modems.set(key, known)
  }
  return [...modems.values()].flatMap(({ spans, ...source }) => {
    const found = newestValue(spans)
    if (!found) return []
    const { newest, sinceMs, isNew } = found
    const shown = shownOf(kind, newest.value, newest.label)
    return [{ ...source, value: newest.value, shown, seenMs: sinceMs, momentMs: sinceMs, isNew }]
  })
}
