import type { ChatKind } from '#alerts/chat/channel'
import type { Alert } from '#alerts/inbox/alert'
import { type NotifiedAlert, nameOf, sentenceOf, subjectOf } from '#alerts/inbox/sentence'
import { onOneLine } from '#core/text'

/** A message to a chat channel: a title, lines of text, and a link to the page. None of them is markup. */
export type ChatText = { title: string; severity: Alert['severity']; lines: readonly string[]; link: string }

type AlertsOfRule = {
  ruleName: string
  severity: Alert['severity']
  organizationName: string
  /** All alerts of the message; `alerts` are the first. */
  count: number
  alerts: readonly NotifiedAlert[]
  link: string
}

/** The message about the alerts of a rule that opened together. */
export function alertsText({ ruleName, severity, organizationName, count, alerts, link }: AlertsOfRule): ChatText {
  const what = subjectOf(alerts, count)
  const unnamed = count - alerts.length
  return {
    title: onOneLine(`[${severity}] ${ruleName}: ${what}`),
    severity,
    lines: [
      ...alerts.map((alert) => onOneLine(`${nameOf(alert)}: ${sentenceOf(alert)}`)),
      ...(unnamed > 0 ? [`and ${unnamed} more`] : []),
      onOneLine(organizationName),
    ],
    link,
  }
}

/** The message of a test. */
export const testText = (channelName: string, organizationName: string, link: string): ChatText => ({
  title: onOneLine(`Test of the channel ${channelName}`),
  severity: 'info',
  lines: [onOneLine(`${organizationName} sends its alerts about routers here.`)],
  link,
})

/** The body of a request to the incoming webhook of a chat service, in the format of its maker. */
export function bodyFor(kind: ChatKind, text: ChatText): Record<string, unknown> {
  switch (kind) {
    case 'slack':
      return slackBody(text)
    case 'teams':
      return teamsBody(text)
    case 'mattermost':
      return mattermostBody(text)
  }
}

const linkTitle = 'Open in Routerfleet'

/**
 * https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks. A header has at most 150 characters, a section at
 * most 3,000. `verbatim` prevents that names become links and mentions.
 */
function slackBody({ title, lines, link }: ChatText) {
  const section = shortened(lines.map(slackEscaped).join('\n'), 3_000)
  return {
    text: slackEscaped(title),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: shortened(title, 150), emoji: false } },
      { type: 'section', text: { type: 'mrkdwn', text: section, verbatim: true } },
      { type: 'context', elements: [{ type: 'mrkdwn', text: `<${link}|${linkTitle}>`, verbatim: true }] },
    ],
  }
}

/** https://docs.slack.dev/messaging/formatting-message-text#escaping */
const slackEscaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const teamsStyles = { critical: 'attention', warning: 'warning', info: 'accent' } as const

/**
 * The envelope of webhooks of Teams Workflows:
 * https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using. Text runs have no markup.
 */
function teamsBody({ title, severity, lines, link }: ChatText) {
  const paragraph = (text: string, look: Record<string, unknown> = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text, ...look }],
  })
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          msteams: { width: 'Full' },
          body: [
            {
              type: 'Container',
              style: teamsStyles[severity],
              bleed: true,
              items: [paragraph(title, { weight: 'Bolder', size: 'Medium' })],
            },
            ...lines.map((line) => paragraph(line)),
          ],
          actions: [{ type: 'Action.OpenUrl', title: linkTitle, url: link }],
        },
      },
    ],
  }
}

const mattermostColors = { critical: '#c4314b', warning: '#d97706', info: '#2563eb' } as const

/** https://developers.mattermost.com/integrate/reference/message-attachments/ */
function mattermostBody({ title, severity, lines, link }: ChatText) {
  return {
    attachments: [
      {
        fallback: title,
        color: mattermostColors[severity],
        title: mattermostEscaped(title),
        title_link: link,
        text: lines.map(mattermostEscaped).join('\n'),
      },
    ],
  }
}

/** A name neither becomes markup nor mentions anybody: a zero-width space follows each `@`. */
const mattermostEscaped = (text: string): string =>
  text.replaceAll(/[\\`*_{}[\]()#+!|<>~:-]/g, '\\$&').replaceAll('@', '@\u200b')

const shortened = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
