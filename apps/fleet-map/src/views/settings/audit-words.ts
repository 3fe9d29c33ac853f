import type { AuditRecord } from '../../api/schemas.ts'
import { deviceStatuses, kindLabel, statusLabel } from '../../components/label-text.ts'
import { type Role, roleLabel } from './role-text.ts'

/**
 * What each action means, as the words between who did it and the name of the object: "Ada deleted the alert rule Offline". In the
 * order in which the filter offers them.
 */
export const actionWords: Readonly<Record<string, string>> = {
  'device.created': 'registered the device',
  'device.updated': 'changed the device',
  'device.deleted': 'deleted the device',
  'device.enrolled': 'enrolled the device',
  'device.identifiers_changed': 'changed the identifiers of the device',
  'device.status_changed': 'changed the status of the device',
  'device.token_issued': 'issued a token for the device',
  'device.token_replaced': 'replaced the token of the device',
  'device.token_revoked': 'revoked a token of the device',
  'device.transferred': 'transferred the device',
  'device.variables_changed': 'changed variables of the device',
  'group.created': 'created the group',
  'group.updated': 'changed the group',
  'group.deleted': 'deleted the group',
  'group.members_added': 'added devices to the group',
  'group.member_removed': 'removed a device from the group',
  'group.variables_changed': 'changed variables of the group',
  'place.created': 'created the place',
  'place.updated': 'changed the place',
  'place.deleted': 'deleted the place',
  'saved_view.created': 'saved the view',
  'saved_view.deleted': 'deleted the view',
  'profile.created': 'created the profile',
  'profile.updated': 'changed the profile',
  'profile.rolled_back': 'rolled back the profile',
  'profile.deleted': 'deleted the profile',
  'firmware_image.added': 'added the firmware',
  'firmware_image.deleted': 'deleted the firmware',
  'job.created': 'created the job',
  'job.cancelled': 'cancelled the job',
  'job.retried': 'retried the job',
  'job_batch.created': 'started the batch of jobs',
  'job_batch.paused': 'paused the batch of jobs',
  'job_batch.resumed': 'resumed the batch of jobs',
  'job_batch.retried': 'retried failed jobs of the batch',
  'job_batch.cancelled': 'cancelled the batch of jobs',
  'job_batch.aborted': 'aborted the batch of jobs',
  'alert.acknowledged': 'acknowledged an alert of the rule',
  'alert.updated': 'commented on an alert of the rule',
  'alert.closed': 'closed an alert of the rule',
  'alert_rule.created': 'created the alert rule',
  'alert_rule.updated': 'changed the alert rule',
  'alert_rule.deleted': 'deleted the alert rule',
  'alert_address.confirmation_requested': 'sent a confirmation to',
  'alert_address.confirmed': 'confirmed the address',
  'alert_address.refused': 'refused messages to',
  'alert_address.tested': 'sent a test message to',
  'chat_channel.created': 'created the chat channel',
  'chat_channel.updated': 'changed the chat channel',
  'chat_channel.deleted': 'deleted the chat channel',
  'chat_channel.tested': 'sent a test message to the chat channel',
  'webhook.created': 'created the webhook',
  'webhook.changed': 'changed the webhook',
  'webhook.secret_rotated': 'rotated the signing secret of the webhook',
  'webhook.old_secret_ended': 'ended the old signing secret of the webhook',
  'webhook.deleted': 'deleted the webhook',
  'webhook.disabled': 'disabled the webhook',
  'webhook.tested': 'sent a test event to the webhook',
  'webhook.redelivered': 'sent an event again to the webhook',
  'person.joined': 'joined the organization',
  'person.renamed': 'changed their name to',
  'person.role_changed': 'changed the role of',
  'person.link_created': 'created a sign-in link for',
  'person.removed': 'removed',
  'invitation.created': 'invited',
  'invitation.withdrawn': 'withdrew the invitation of',
  'session.started': 'signed in',
  'session.ended': 'signed out',
  'session.revoked': 'ended a session',
  'session.roles_changed': 'changed the roles of a session',
  'api_key.created': 'created the API key',
  'api_key.rotated': 'rotated the API key',
  'api_key.revoked': 'revoked the API key',
  'enrollment_key.created': 'created the enrollment key',
  'enrollment_key.revoked': 'revoked the enrollment key',
  'organization.created': 'created the organization',
  'organization.renamed': 'renamed the organization to',
  'organization.variables_changed': 'changed variables of the organization',
  'organization.subscription_changed': 'changed the subscription of the organization',
  'radio_health.requested': 'compared the radios',
  'map_settings.changed': 'changed the map background',
  'tool.called': 'called the tool',
}

/** The words of an action; for one of a newer service, the words of its name. */
export const wordsOfAction = (action: string): string => actionWords[action] ?? action.replaceAll(/[._]/g, ' ')

const withoutObject = new Set(['person.joined', 'radio_health.requested', 'map_settings.changed'])

/** The object of a sentence about a record; undefined if the words of the action say it all. */
export function objectOf({ action, subjectType, subjectId, subjectName, detail }: AuditRecord): string | undefined {
  if (subjectType === 'session' || withoutObject.has(action)) return undefined
  if (subjectType === 'tool') return subjectId
  if (subjectName !== null) return subjectName
  for (const name of ['email', 'version'] as const) if (typeof detail[name] === 'string') return detail[name]
  if (typeof detail.kind === 'string') return kindLabel[detail.kind as keyof typeof kindLabel] ?? detail.kind
  return subjectId.includes('@') ? subjectId : `…${subjectId.slice(-12)}`
}

const said = new Set(['name', 'email', 'deviceId', 'ruleId', 'newKeyId', 'principalId', 'kind'])

/** What a record says beside its sentence: `role: Operator`. */
export function detailText({ action, detail }: AuditRecord): string {
  if (action === 'device.status_changed') return `${statusText(detail.from)} → ${statusText(detail.to)}`
  if (action === 'person.role_changed') return `${valueText(detail.from)} → ${valueText(detail.to)}`
  return Object.entries(detail)
    .filter(
      ([name, value]) =>
        !said.has(name) && value !== null && !isId(value) && !(action.startsWith('firmware') && name === 'version'),
    )
    .map(([name, value]) => `${wordsOfName(name)}: ${valueText(value)}`)
    .join(', ')
}

const wordsOfName = (name: string): string => name.replaceAll(/([A-Z])/g, (letter) => ` ${letter.toLowerCase()}`)

function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ') || 'none'
  if (typeof value === 'string' && Object.hasOwn(roleLabel, value)) return roleLabel[value as Role]
  return isRecord(value) ? recordText(value) : String(value)
}

/** `Standard router, version 2`: what has a name begins with it. */
function recordText({ name, ...others }: Record<string, unknown>): string {
  const rest = Object.entries(others).filter(([, value]) => value !== null && !isId(value))
  const words = rest.map(([key, value]) => `${wordsOfName(key)} ${valueText(value)}`)
  return [...(typeof name === 'string' ? [name] : []), ...words].join(', ')
}

function statusText(status: unknown): string {
  const known = deviceStatuses.find((one) => one === status)
  return known ? statusLabel(known) : String(status)
}

/** An id says nothing to people: the sentence names the object. */
const isId = (value: unknown): boolean =>
  typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(value)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
