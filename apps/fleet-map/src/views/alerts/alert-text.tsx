import { nearText } from '#client/near'
import type { Alert, AlertState, Condition, JobStatus } from '../../api/schemas.ts'
import { count, duration, measured, moment } from '../../components/format.ts'
import { jobLook, kindLabel } from '../../components/label-text.ts'
import { numberOf, textOf } from '../../state/history-row.ts'
import { linkTo } from '../../state/url.ts'

export type AlertKind = Condition['kind']
export type Severity = Alert['severity']

/** From the most to the least severe. */
export const severities = ['critical', 'warning', 'info'] as const satisfies readonly Severity[]

export const kindLabels: Record<AlertKind, string> = {
  offline: 'No report',
  no_fix: 'No GPS position',
  weak_signal: 'Weak signal',
  high_temperature: 'High temperature',
  low_voltage: 'Low voltage',
  modem_down: 'Modem without service',
  radio_fault: 'Weak antenna',
  job_failed: 'Failed job',
  profile_not_applied: 'Profile not applied',
  config_differs: 'Changed on the device',
  rebooted: 'Restarted',
  sim_changed: 'SIM changed',
  operator_changed: 'Operator changed',
  entered_place: 'Entered a place',
  left_place: 'Left a place',
  data_use: 'Data use',
  webhook_disabled: 'Webhook disabled',
}

export const stateLabels: Record<AlertState, string> = {
  open: 'Open',
  acknowledged: 'Acknowledged',
  closed: 'Closed',
}

const severityLook: Record<Severity, { label: string; color: string; mark: string }> = {
  critical: { label: 'Critical', color: 'var(--bad)', mark: '▲' },
  warning: { label: 'Warning', color: 'var(--warn)', mark: '◆' },
  info: { label: 'Info', color: 'var(--accent)', mark: '●' },
}

export const severityLabel = (severity: Severity): string => severityLook[severity].label

/** A severity as a shape, a colour and a word. */
export const SeverityLabel = ({ severity }: { severity: Severity }) => (
  <span class="status">
    <span aria-hidden="true" style={{ color: severityLook[severity].color }}>
      {severityLook[severity].mark}
    </span>
    {severityLook[severity].label}
  </span>
)

const lasting = (minutes: number) => (minutes === 0 ? '' : ` for ${duration(minutes * 60)}`)

/** Returns a condition as a phrase, such as "No report for 30 min". */
export function conditionText(condition: Condition, placeName: (id: string) => string): string {
  switch (condition.kind) {
    case 'offline':
      return `No report${lasting(condition.forMinutes)}`
    case 'no_fix':
      return `No GPS position${lasting(condition.forMinutes)}`
    case 'weak_signal':
      return `RSRP below ${measured(condition.rsrpBelowDbm, 'dBm')}${lasting(condition.forMinutes)}`
    case 'high_temperature':
      return `Temperature above ${measured(condition.temperatureAboveC, '°C')}${lasting(condition.forMinutes)}`
    case 'low_voltage':
      return `Supply voltage below ${measured(condition.voltageBelowV, 'V')}${lasting(condition.forMinutes)}`
    case 'modem_down':
      return `A modem without service${lasting(condition.forMinutes)}`
    case 'radio_fault':
      return 'A modem weaker than its neighbours'
    case 'job_failed':
      return 'A job did not succeed'
    case 'config_differs':
      return `Another configuration than was applied${lasting(condition.forMinutes)}`
    case 'profile_not_applied':
      return `An earlier version of the profile${lasting(condition.forMinutes)}`
    case 'rebooted':
      return 'A restart'
    case 'sim_changed':
      return 'Another SIM in a modem'
    case 'operator_changed':
      return 'Another operator of a modem'
    case 'webhook_disabled':
      return `A webhook was disabled${lasting(condition.forMinutes)}`
    case 'entered_place':
      return `Inside ${placeName(condition.placeId)}${lasting(condition.forMinutes)}`
    case 'left_place':
      return `Outside ${placeName(condition.placeId)}${lasting(condition.forMinutes)}`
    case 'data_use':
      return `More than ${count(condition.aboveMegabytes)} MB per ${condition.period}`
  }
}

const orNever = (time: unknown) => {
  const text = textOf(time)
  return text === null ? 'never' : moment(text)
}

/** Returns a job and how it ended, such as "Reboot: Timed out". */
function jobText({ jobKind, jobStatus }: Alert['measured']): string {
  const [kind, status] = [textOf(jobKind) ?? '', textOf(jobStatus) ?? '']
  return `${kindLabel[kind] ?? kind}: ${jobLook[status as JobStatus]?.label ?? status}`
}

/** What was measured when the alert opened, with the way to the job, profile or place that it is about, and the nearest town. */
export function Measured({ alert }: { alert: Alert }) {
  const { lat, lon } = alert.measured
  const [north, east] = [numberOf(lat), numberOf(lon)]
  const at = north === null || east === null ? undefined : `${north.toFixed(5)}, ${east.toFixed(5)}`
  const href = linkOf(alert)
  const text = measuredText(alert)
  return (
    <span title={at}>
      {href ? <a href={href}>{text}</a> : text}
      {alert.near ? `, ${nearText(alert.near)}` : ''}
    </span>
  )
}

/** The job, the profile or the place that an alert is about. */
function linkOf({ measured: { jobId, profileId, placeId } }: Alert): string | undefined {
  const [job, profile, place] = [textOf(jobId), textOf(profileId), textOf(placeId)]
  if (job !== null) return linkTo('jobs', { job })
  if (profile !== null) return linkTo('profiles', { profile })
  return place === null ? undefined : linkTo('alerts', { tab: 'places', place })
}

const partOf = (value: unknown, name: string): string | null =>
  typeof value === 'object' && value !== null ? textOf((value as Record<string, unknown>)[name]) : null

/** Returns an operator by its name, or else by its number. */
const operatorOf = (operator: unknown): string | null => partOf(operator, 'operatorName') ?? partOf(operator, 'plmn')

/** Returns what was measured when the alert opened. */
function measuredText({ kind, measured: values }: Alert): string {
  switch (kind) {
    case 'offline':
      return `Last report: ${orNever(values.lastSeenAt)}`
    case 'no_fix':
      return `Last position: ${orNever(values.lastFixAt)}`
    case 'weak_signal':
      return numberOf(values.rsrpDbm) === null ? 'No service' : `RSRP ${measured(numberOf(values.rsrpDbm), 'dBm')}`
    case 'high_temperature':
      return measured(numberOf(values.temperatureC), '°C')
    case 'low_voltage':
      return measured(numberOf(values.voltageV), 'V')
    case 'modem_down':
      return `Modem ${textOf(values.modem) ?? ''} without service`
    case 'radio_fault':
      return `Modem ${textOf(values.modem) ?? ''} ${measured(numberOf(values.offsetDb), 'dB')} beside its neighbours`
    case 'job_failed':
      return jobText(values)
    case 'config_differs':
      return `Not as applied: ${textOf(values.profileName) ?? 'profile'}, version ${numberOf(values.version)}`
    case 'profile_not_applied':
      return `${textOf(values.profileName) ?? ''}: version ${numberOf(values.version)} instead of ${numberOf(values.newestVersion)}`
    case 'rebooted':
      return textOf(values.reason) === null ? 'Restarted' : `Restarted: ${textOf(values.reason)}`
    case 'sim_changed':
      return `Modem ${textOf(values.modem) ?? ''}: SIM ${partOf(values.to, 'iccid')} instead of ${partOf(values.from, 'iccid')}`
    case 'operator_changed':
      return `Modem ${textOf(values.modem) ?? ''}: ${operatorOf(values.to)} instead of ${operatorOf(values.from)}`
    case 'webhook_disabled':
      return textOf(values.reason) ?? ''
    case 'data_use':
      return `${count(Math.round(numberOf(values.megabytes) ?? 0))} MB`
    case 'entered_place':
      return `Inside ${textOf(values.placeName) ?? 'the place'}`
    case 'left_place':
      return `Outside ${textOf(values.placeName) ?? 'the place'}`
  }
}

const closeReasons: Record<string, string> = {
  closed_by_user: 'Closed manually',
  condition_ended: 'Condition ended',
  out_of_scope: 'The rule no longer applies to the device',
  rule_changed: 'The rule was changed',
  rule_disabled: 'The rule was disabled',
  rule_deleted: 'The rule was deleted',
}

export const closeReasonText = (reason: string | null): string => (reason ? (closeReasons[reason] ?? reason) : '')
