import type { Alert } from '#alerts/inbox/alert'

/** What a message says about one alert. `closed`: since it opened. */
export type MailedAlert = Pick<Alert, 'deviceName' | 'deviceId' | 'kind' | 'since' | 'measured'> & { closed: boolean }

/** A message about the alerts of one rule. `count`: all of them; `alerts`: the first. */
export type AlertMail = {
  ruleName: string
  severity: Alert['severity']
  organizationName: string
  count: number
  alerts: readonly MailedAlert[]
  /** A link with which the reader refuses further messages. */
  refusal?: string | undefined
}

/** Returns the subject, on one line, and the text of a message. */
export function mailText({ ruleName, severity, organizationName, count, alerts, refusal }: AlertMail): {
  subject: string
  text: string
} {
  const [only] = alerts
  const what = count === 1 && only ? nameOf(only) : `${count} devices`
  const unnamed = count - alerts.length
  const lines = [
    `${count} ${count === 1 ? 'alert' : 'alerts'} opened.`,
    '',
    `Rule: ${ruleName}`,
    `Severity: ${severity}`,
    `Organization: ${organizationName}`,
    '',
    ...alerts.map((alert) => `- ${nameOf(alert)}: ${sentenceOf(alert)}${alert.closed ? ' (closed since)' : ''}`),
    ...(unnamed > 0 ? [`- and ${unnamed} more`] : []),
    ...(refusal === undefined ? [] : ['', `To receive no more messages of ${organizationName}, open ${refusal}`]),
  ]
  return {
    subject: onOneLine(`[${severity}] ${ruleName}: ${what}`),
    text: `${lines.map(onOneLine).join('\n')}\n`,
  }
}

/** Returns the subject and the text of a message that asks the owner of an address for a confirmation. */
export function confirmationText({
  organizationName,
  link,
  days,
}: {
  organizationName: string
  link: string
  days: number
}): { subject: string; text: string } {
  const lines = [
    `The organization "${organizationName}" wants to send alerts about its routers to this address.`,
    '',
    'To receive them, open this page and confirm:',
    link,
    '',
    'If you do not want them, open the page and refuse. The organization then cannot write to you again.',
    `If you do nothing, you receive no alerts. The link is valid for ${days} days.`,
  ]
  return {
    subject: onOneLine(`Confirm that you want alerts of ${organizationName}`),
    text: `${lines.map(onOneLine).join('\n')}\n`,
  }
}

const nameOf = ({ deviceName, deviceId }: MailedAlert): string => deviceName ?? deviceId

function sentenceOf({ kind, since, measured }: MailedAlert): string {
  const from = `since ${since.slice(0, 16).replace('T', ' ')} UTC`
  switch (kind) {
    case 'offline':
      return `no report ${from}`
    case 'no_fix':
      return `no position ${from}`
    case 'weak_signal':
      return typeof measured.rsrpDbm === 'number'
        ? `signal ${measured.rsrpDbm} dBm, weak ${from}`
        : `no service ${from}`
    case 'high_temperature':
      return `${measured.temperatureC} °C, too high ${from}`
    case 'modem_down':
      return `modem ${onOneLine(String(measured.modem ?? 'of the router'))} without service ${from}`
    case 'entered_place':
      return `inside the place ${from}`
    case 'left_place':
      return `outside the place ${from}`
    case 'data_use':
      return `${measured.megabytes} MB used ${from}`
  }
}

/** Names have no control characters when they are stored. This keeps every header on one line all the same. */
const onOneLine = (text: string): string => text.replaceAll(/\p{Cc}+/gu, ' ')
