import type { Alert } from '../../api/schemas.ts'
import { textOf } from '../../state/history-row.ts'
import { linkTo } from '../../state/url.ts'

/** The name of the device or webhook that an alert is about; null for a device that belongs to another organization now. */
export const subjectName = ({ deviceId, deviceName, measured }: Alert): string | null =>
  deviceId === null ? textOf(measured.webhook) : deviceName

/** The device or webhook that an alert is about, as a link. */
export function AlertSubject({ alert, unnamed }: { alert: Alert; unnamed: string }) {
  const name = subjectName(alert)
  if (alert.deviceId !== null) {
    return name === null ? unnamed : <a href={linkTo('device', { id: alert.deviceId })}>{name}</a>
  }
  const webhook = textOf(alert.measured.webhookId)
  const place = { section: 'webhooks', org: alert.organizationId, ...(webhook ? { webhook } : {}) }
  return <a href={linkTo('settings', place)}>{name}</a>
}
