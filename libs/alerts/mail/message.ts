import type { Alert } from '#alerts/inbox/alert'
import { type NotifiedAlert, nameOf, sentenceOf, subjectOf } from '#alerts/inbox/sentence'
import { onOneLine } from '#core/text'

/** A message about the alerts of one rule. `count`: all of them; `alerts`: the first. */
export type AlertMail = {
  ruleName: string
  severity: Alert['severity']
  organizationName: string
  count: number
  alerts: readonly NotifiedAlert[]
  /** A link with which the reader refuses further messages. */
  refusal?: string | undefined
}

/** Returns the subject, on one line, and the text of a message. */
export function mailText({ ruleName, severity, organizationName, count, alerts, refusal }: AlertMail): {
  subject: string
  text: string
} {
  const what = subjectOf(alerts, count)
  const unnamed = count - alerts.length
  const lines = [
    `${count} ${count === 1 ? 'alert' : 'alerts'} opened.`,
    '',
    `Rule: ${ruleName}`,
    `Severity: ${severity}`,
    `Organization: ${organizationName}`,
    '',
    ...alerts.map((alert) => `- ${nameOf(alert)}: ${sentenceOf(alert)}`),
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

/** Returns the subject and the text of a test message. */
export const testMailText = (organizationName: string): { subject: string; text: string } => ({
  subject: onOneLine(`Test: alerts of ${organizationName}`),
  text: `${onOneLine(`The organization "${organizationName}" sends its alerts about routers to this address.`)}\n`,
})
