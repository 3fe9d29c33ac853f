import { chatKinds } from '#alerts/chat/channel'
import { closeReasons } from '#alerts/inbox/alert'
import { alertKinds, severities } from '#alerts/rules/condition'
import { roleNames, scopes } from '#fleet/access/scopes'
import { deviceStatuses } from '#fleet/devices/status'
import { eventTypes } from '#fleet/events/publish'
import { heldReasons } from '#fleet/jobs/model/good-moment'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'
import { eventKinds } from '#reads/device-events'
import { qualities } from '#telemetry/coverage/quality'
import { fieldTable } from '#telemetry/report/fields'

/** The words that several schemas of the API have in common, or that are open, by their name there. */
export const namedEnums: Record<string, readonly string[]> = {
  AlertCloseReason: closeReasons,
  AlertKind: alertKinds,
  AlertSeverity: severities,
  ChatKind: chatKinds,
  ConnectionState: fieldTable.connection.state.words,
  DeviceEventKind: eventKinds,
  DeviceStatus: deviceStatuses,
  JobHeldReason: heldReasons,
  JobKind: jobKinds,
  JobStatus: jobStatuses,
  RadioAccessTechnology: fieldTable.cellular.rat.words,
  Registration: fieldTable.connection.registration.words,
  Role: roleNames,
  Scope: scopes,
  SignalQuality: qualities,
  WebhookEvent: eventTypes,
}

/** The enums and unions to which later minor versions can add members. docs/versioning.md lists them. */
export const openEnums: ReadonlySet<string> = new Set([
  'AlertCloseReason',
  'AlertKind',
  'ChatKind',
  'DeviceEventKind',
  'JobHeldReason',
  'JobKind',
  'RadioAccessTechnology',
  'Scope',
  'WebhookEvent',
])
export const openUnions: ReadonlySet<string> = new Set(['AlertCondition', 'TelemetryHistoryItem'])
