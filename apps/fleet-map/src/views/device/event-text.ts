import { nearText } from '#client/near'
import type { DeviceEvent, DeviceStatus, JobStatus } from '../../api/schemas.ts'
import { actorText } from '../../components/actor.ts'
import { count, duration, timeOfDay } from '../../components/format.ts'
import { jobLook, kindLabel, statusLabel } from '../../components/label-text.ts'
import { numberOf, textOf } from '../../state/history-row.ts'

export type EventKind = DeviceEvent['kind']

export const kindLooks: Record<EventKind, { label: string; color: string }> = {
  status: { label: 'Status', color: 'var(--accent)' },
  change: { label: 'Changes by people', color: 'var(--text)' },
  job: { label: 'Jobs', color: 'var(--ok)' },
  alert: { label: 'Alerts', color: 'var(--warn)' },
  reboot: { label: 'Reboots', color: 'var(--bad)' },
  handover: { label: 'Handovers', color: 'var(--quality-good)' },
  fault: { label: 'Faults', color: 'var(--bad)' },
  report: { label: 'Reports', color: 'var(--line-strong)' },
}

const changeTitles: Record<string, string> = {
  'device.created': 'Device added',
  'device.updated': 'Device edited',
  'device.transferred': 'Device transferred',
  'device.token_issued': 'Token issued',
  'device.token_replaced': 'Token issued, earlier tokens revoked',
  'device.token_revoked': 'Token revoked',
  'device.enrolled': 'Router enrolled',
}

const handoverTitles: Record<string, string> = {
  cell_changed: 'Other cell',
  operator_changed: 'Other operator',
  technology_changed: 'Other radio technology',
  service_lost: 'Service lost',
  service_restored: 'Service restored',
}

const statusReasons: Record<string, string> = {
  telemetry: 'The router reported.',
  silent: 'The router stopped reporting.',
  request: 'On request.',
  'config job failed': 'A profile could not be applied.',
}

type Radio = { rat?: string | null; plmn?: string | null; operatorName?: string | null; cellId?: string | null }

/** Returns what an event means, as a title and a sentence of details. */
export function eventText({ kind, action, detail }: DeviceEvent): { title: string; more: string } {
  switch (kind) {
    case 'status': {
      const label = (status: unknown) => statusLabel(status as DeviceStatus)
      const title = `${label(detail.from)} → ${label(detail.to)}`
      return { title, more: statusReasons[String(detail.reason)] ?? '' }
    }
    case 'job': {
      const title = `${kindLabel[String(detail.jobKind)] ?? detail.jobKind}: ${jobLook[action as JobStatus].label.toLowerCase()}`
      const reason = textOf((detail.error as { detail?: unknown } | null)?.detail)
      const attempt = numberOf(detail.attempt) ?? 1
      return { title, more: [attempt > 1 ? `Attempt ${attempt}.` : '', reason ?? ''].filter(Boolean).join(' ') }
    }
    case 'alert':
      return { title: `Alert ${action}: ${detail.ruleName}`, more: alertText(detail) }
    case 'reboot': {
      const reason = textOf(detail.reason)
      const uptimeS = numberOf(detail.uptimeS) ?? 0
      return { title: 'Rebooted', more: `${reason ? `Reason: ${reason}. ` : ''}Running for ${duration(uptimeS)} then.` }
    }
    case 'handover':
      return {
        title: handoverTitles[action] ?? action,
        more: `${modemText(detail.modem)}${radioText(detail.from as Radio)} → ${radioText(detail.to as Radio)}`,
      }
    case 'fault':
      return { title: action === 'fault_ended' ? 'Fault ended' : 'Fault reported', more: String(detail.fault ?? '') }
    case 'report': {
      const [from, to] = [Date.parse(String(detail.from)), Date.parse(String(detail.to))]
      return {
        title: `${count(numberOf(detail.samples) ?? 0)} samples`,
        more: `${timeOfDay(from)} to ${timeOfDay(to)}`,
      }
    }
    default:
      return {
        title: changeTitles[action] ?? action.replace('device.', '').replaceAll('_', ' '),
        more: changeText(detail),
      }
  }
}

/** The severity of an alert, its place, and the nearest town. */
function alertText({ severity, condition, placeName, near }: DeviceEvent['detail']): string {
  const [place, town] = [textOf(placeName), near as Parameters<typeof nearText>[0] | undefined]
  const where = [
    place === null ? '' : `${condition === 'left_place' ? 'outside' : 'inside'} ${place}`,
    town ? nearText(town) : '',
  ]
  return [`Severity: ${severity}`, ...where].filter(Boolean).join(', ').concat('.')
}

const modemText = (modem: unknown): string => (textOf(modem) === null ? '' : `${modem}: `)

const radioText = ({ rat, plmn, operatorName, cellId }: Radio): string =>
  rat === 'none'
    ? 'no service'
    : [operatorName ?? plmn, rat?.toUpperCase(), cellId ? `cell ${cellId}` : null].filter(Boolean).join(' ')

/** Names the changed fields and their new values. */
const changeText = (detail: Record<string, unknown>): string =>
  Object.entries(detail)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') || 'none' : String(value)}`)
    .join('; ')

/** Returns who caused an event. */
export function causeText({ by, byName }: DeviceEvent): string {
  if (by === null) return ''
  return by === 'system' ? 'Automatic' : actorText(by, byName)
}
