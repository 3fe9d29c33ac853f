import { severities } from '#alerts/rules/condition'
import { roleNames, scopes } from '#fleet/access/scopes'
import { deviceStatuses } from '#fleet/devices/status'
import { eventTypes } from '#fleet/events/publish'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'
import { qualities } from '#telemetry/coverage/quality'
import { fieldTable } from '#telemetry/report/fields'

/** The words that several schemas of the API have in common, by their name there. */
export const namedEnums: Record<string, readonly string[]> = {
  AlertSeverity: severities,
  ConnectionState: fieldTable.connection.state.words,
  DeviceStatus: deviceStatuses,
  JobKind: jobKinds,
  JobStatus: jobStatuses,
  RadioAccessTechnology: fieldTable.cellular.rat.words,
  Registration: fieldTable.connection.registration.words,
  Role: roleNames,
  Scope: scopes,
  SignalQuality: qualities,
  WebhookEvent: eventTypes,
}
