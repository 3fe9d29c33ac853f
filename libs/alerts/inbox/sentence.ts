import type { Alert } from '#alerts/inbox/alert'
import { jobKindWords, jobStatusWords } from '#core/job-words'
import { nearText } from '#core/near'
import { measuredText, offsetText } from '#core/quantity-text'
import { onOneLine } from '#core/text'
import type { JobKind } from '#fleet/jobs/model/kinds'
import type { JobStatus } from '#fleet/jobs/model/states'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** What a message says about one alert. `closed`: since it opened. */
export type NotifiedAlert = Pick<Alert, 'deviceName' | 'deviceId' | 'kind' | 'since' | 'measured' | 'near'> & {
  closed: boolean
}

/** The alerts that a message names, oldest first. */
export const readNotified = (db: Queryable, alertIds: readonly string[]): Promise<NotifiedAlert[]> =>
  queryEntities(
    db,
    `SELECT d.name AS "deviceName", a.device_id AS "deviceId", a.kind, a.since, a.measured, a.near, a.state = 'closed' AS closed
     FROM alert a LEFT JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id
     WHERE a.id = ANY ($alertIds::uuid[]) ORDER BY a.id`,
    { alertIds },
  )

/** The name of an alert's device or webhook. */
export const nameOf = ({ deviceName, deviceId, measured }: NotifiedAlert): string =>
  deviceName ?? deviceId ?? String(measured.webhook)

/** What the alerts of a rule are about, such as "Bus 42" or "3 devices". `count`: all of them; `alerts`: the first. */
export function subjectOf(alerts: readonly NotifiedAlert[], count: number): string {
  const [first] = alerts
  if (count === 1 && first) return nameOf(first)
  return `${count} ${first?.kind === 'webhook_disabled' ? 'webhooks' : 'devices'}`
}

/** What an alert is about and where, on one line, such as "no report since 2026-05-04 12:30 UTC, 12 km north of Arnhem". */
export function sentenceOf({ kind, since, measured, near, closed }: NotifiedAlert): string {
  const time = `${since.slice(0, 16).replace('T', ' ')} UTC`
  const where = near ? `, ${nearText(near)}` : ''
  return `${phraseOf(kind, measured, time)}${where}${closed ? ' (closed since)' : ''}`
}

const modemOf = ({ modem }: Alert['measured']): string =>
  typeof modem === 'string' && modem !== '' ? `modem ${onOneLine(modem)}` : 'the modem'

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null)

const kindWords: Record<JobKind, string> = jobKindWords
const statusWords: Record<JobStatus, string> = jobStatusWords

/** A job and how it ended, such as "firmware update timed out". */
const jobOf = ({ jobKind, jobStatus }: Alert['measured']): string =>
  `${kindWords[jobKind as JobKind] ?? jobKind} ${statusWords[jobStatus as JobStatus] ?? jobStatus}`.toLowerCase()

/** The profile by its name, which is null once the profile is deleted. */
const profileOf = ({ profileName }: Alert['measured']): string =>
  typeof profileName === 'string' ? `the profile ${onOneLine(profileName)}` : 'the profile'

/** The place by its name, which alerts of earlier databases do not have. */
const placeOf = ({ placeName }: Alert['measured']): string =>
  typeof placeName === 'string' ? onOneLine(placeName) : 'the place'

/** An operator of `measured` by its name, or else by its number. */
function operatorOf(operator: unknown): string {
  const { operatorName, plmn } = operator as { operatorName?: string | null; plmn?: string }
  return onOneLine(operatorName ?? plmn ?? 'unknown')
}

function phraseOf(kind: Alert['kind'], measured: Alert['measured'], time: string): string {
  const from = `since ${time}`
  switch (kind) {
    case 'offline':
      return `no report ${from}`
    case 'no_fix':
      return `no position ${from}`
    case 'weak_signal':
      return numberOf(measured.rsrpDbm) === null
        ? `no service ${from}`
        : `signal ${measuredText(numberOf(measured.rsrpDbm), 'dBm')}, weak ${from}`
    case 'high_temperature':
      return `${measuredText(numberOf(measured.temperatureC), '°C')}, too high ${from}`
    case 'low_voltage':
      return `${measuredText(numberOf(measured.voltageV), 'V', 1)}, too low ${from}`
    case 'modem_down':
      return `${modemOf(measured)} without service ${from}`
    case 'radio_fault':
      return `${modemOf(measured)} ${offsetText(numberOf(measured.offsetDb))} beside its neighbours, weak ${from}`
    case 'job_failed':
      return `job ${jobOf(measured)}, none succeeded ${from}`
    case 'config_differs':
      return `another configuration than the applied version ${measured.version} of ${profileOf(measured)} ${from}`
    case 'profile_not_applied':
      return `version ${measured.version} of ${profileOf(measured)} instead of ${measured.newestVersion} ${from}`
    case 'rebooted':
      return `restarted at ${time}${measured.reason ? `, reason: ${onOneLine(String(measured.reason))}` : ''}`
    case 'sim_changed':
      return `${modemOf(measured)} has another SIM ${from}`
    case 'operator_changed':
      return `${modemOf(measured)} with the operator ${operatorOf(measured.to)} instead of ${operatorOf(measured.from)} ${from}`
    case 'webhook_disabled':
      return `webhook disabled ${from}: ${onOneLine(String(measured.reason))}`
    case 'entered_place':
      return `inside ${placeOf(measured)} ${from}`
    case 'left_place':
      return `outside ${placeOf(measured)} ${from}`
    case 'data_use':
      return `${measuredText(numberOf(measured.megabytes), 'MB')} used ${from}`
  }
}
