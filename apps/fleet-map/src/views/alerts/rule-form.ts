import type { AlertRule, ChatChannel, Condition, Group, Place, QuietHours } from '../../api/schemas.ts'
import { wordsOf } from '../../components/words.ts'
import type { AlertKind, Severity } from './alert-words.ts'

/** What the forms of rules choose from. */
export type RuleTargets = { groups: Group[]; places: Place[]; chats: ChatChannel[] }

/** What a rule is created from. */
export type RuleBody = Omit<AlertRule, 'id' | 'unconfirmedEmails' | 'mailMissing' | 'createdAt' | 'updatedAt'>

export const newRule: RuleBody = {
  name: '',
  enabled: true,
  severity: 'warning',
  condition: { kind: 'offline', forMinutes: 30 },
  groupId: null,
  tags: [],
  channels: { webhook: true, emails: [], chats: [] },
  quietHours: null,
}

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

/** Reads the fields of `RuleFields`. */
export function readRuleForm(form: FormData): RuleBody {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return {
    name: text('name'),
    enabled: form.has('enabled'),
    severity: text('severity') as Severity,
    condition: readCondition(text('kind') as AlertKind, text),
    groupId: text('groupId') || null,
    tags: wordsOf(text('tags')),
    channels: { webhook: form.has('webhook'), emails: wordsOf(text('emails')), chats: form.getAll('chat').map(String) },
    quietHours: form.has('quiet') ? readQuietHours(form, text) : null,
  }
}

function readCondition(kind: AlertKind, text: (name: string) => string): Condition {
  const forMinutes = Number(text('forMinutes'))
  switch (kind) {
    case 'weak_signal':
      return { kind, rsrpBelowDbm: Number(text('rsrpBelowDbm')), forMinutes }
    case 'high_temperature':
      return { kind, temperatureAboveC: Number(text('temperatureAboveC')), forMinutes }
    case 'low_voltage':
      return { kind, voltageBelowV: Number(text('voltageBelowV')), forMinutes }
    case 'entered_place':
    case 'left_place':
      return { kind, placeId: text('placeId'), forMinutes }
    case 'radio_fault':
    case 'job_failed':
    case 'rebooted':
    case 'sim_changed':
    case 'operator_changed':
      return { kind }
    case 'data_use':
      return { kind, aboveMegabytes: Number(text('aboveMegabytes')), period: text('period') as 'day' | 'month' }
    default:
      return { kind, forMinutes }
  }
}

function readQuietHours(form: FormData, text: (name: string) => string): QuietHours {
  const chosen = form.getAll('days')
  const days = weekdays.filter((day) => chosen.includes(day))
  const isEveryDay = days.length === 0 || days.length === weekdays.length
  return {
    ...(isEveryDay ? {} : { days }),
    from: text('quietFrom'),
    to: text('quietTo'),
    timeZone: text('timeZone'),
  }
}
