import { enteredText, measuredText, offsetText } from '#core/quantity-text'
import type { Alert, AlertState, Condition, JobStatus } from '../../api/schemas.ts'
import { duration, moment } from '../../components/format.ts'
import { jobLook, kindLabel } from '../../components/label-text.ts'
import { numberOf, textOf } from '../../state/history-row.ts'

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

const longMinutes = 2 * 1_440

/** The time of a rule with all of its minutes, which `duration` leaves out after two days. */
function lasting(minutes: number): string {
  if (minutes === 0) return ''
  const rest = minutes >= longMinutes && minutes % 60 > 0 ? ` ${minutes % 60} min` : ''
  return ` for ${duration(minutes * 60)}${rest}`
}

/** Returns a condition as a phrase, such as "No report for 30 min". */
export function conditionText(condition: Condition, placeName: (id: string) => string): string {
  switch (condition.kind) {
    case 'offline':
      return `No report${lasting(condition.forMinutes)}`
    case 'no_fix':
      return `No GPS position${lasting(condition.forMinutes)}`
    case 'weak_signal':
      return `RSRP below ${enteredText(condition.rsrpBelowDbm, 'dBm')}${lasting(condition.forMinutes)}`
    case 'high_temperature':
      return `Temperature above ${enteredText(condition.temperatureAboveC, '°C')}${lasting(condition.forMinutes)}`
    case 'low_voltage':
      return `Supply voltage below ${enteredText(condition.voltageBelowV, 'V')}${lasting(condition.forMinutes)}`
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
      return `More than ${enteredText(condition.aboveMegabytes, 'MB')} per ${condition.period}`
  }
}

const orNever = (time: unknown) => {
  const text = textOf(time)
  return text === null ? 'never' : moment(text)
}

/** Returns a job and how it ended, such as "Reboot: Timed out". */
function jobText({ jobKind, jobStatus }: Values): string {
  const [kind, status] = [textOf(jobKind) ?? '', textOf(jobStatus) ?? '']
  return `${kindLabel[kind] ?? kind}: ${jobLook[status as JobStatus]?.label ?? status}`
}

const partOf = (value: unknown, name: string): string | null =>
  typeof value === 'object' && value !== null ? textOf((value as Record<string, unknown>)[name]) : null

/** Returns an operator by its name, or else by its number. */
const operatorOf = (operator: unknown): string =>
  partOf(operator, 'operatorName') ?? partOf(operator, 'plmn') ?? 'unknown operator'

const simOf = (sim: unknown): string => partOf(sim, 'iccid') ?? 'unknown'

type Values = Alert['measured']

/** The modem of an alert by its name, which not every router sends. */
const modemOf = ({ modem }: Values): string => (textOf(modem) === null ? 'The modem' : `Modem ${modem}`)

/** The profile of an alert by its name, which is null once it is deleted. */
const profileOf = ({ profileName }: Values): string => textOf(profileName) ?? 'deleted profile'

/** Returns what was measured when the alert opened. */
export function openedText({ kind, measured: values }: Pick<Alert, 'kind' | 'measured'>): string {
  switch (kind) {
    case 'offline':
      return `Last report: ${orNever(values.lastSeenAt)}`
    case 'no_fix':
      return `Last position: ${orNever(values.lastFixAt)}`
    case 'weak_signal':
      return numberOf(values.rsrpDbm) === null ? 'No service' : `RSRP ${measuredText(numberOf(values.rsrpDbm), 'dBm')}`
    case 'high_temperature':
      return measuredText(numberOf(values.temperatureC), '°C')
    case 'low_voltage':
      return measuredText(numberOf(values.voltageV), 'V', 1)
    case 'modem_down':
      return `${modemOf(values)} without service`
    case 'radio_fault':
      return `${modemOf(values)} ${offsetText(numberOf(values.offsetDb))} beside its neighbours`
    case 'job_failed':
      return jobText(values)
    case 'config_differs':
      return `Not as applied: ${profileOf(values)}, version ${numberOf(values.version)}`
    case 'profile_not_applied':
      return `${profileOf(values)}: version ${numberOf(values.version)} instead of ${numberOf(values.newestVersion)}`
    case 'rebooted':
      return textOf(values.reason) === null ? 'Restarted' : `Restarted: ${textOf(values.reason)}`
    case 'sim_changed':
      return `${modemOf(values)}: SIM ${simOf(values.to)} instead of ${simOf(values.from)}`
    case 'operator_changed':
      return `${modemOf(values)}: ${operatorOf(values.to)} instead of ${operatorOf(values.from)}`
    case 'webhook_disabled':
      return textOf(values.reason) ?? ''
    case 'data_use':
      return measuredText(numberOf(values.megabytes), 'MB')
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
