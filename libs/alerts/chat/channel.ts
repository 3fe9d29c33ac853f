import { z } from 'zod'
import { instantOut, text, uuid } from '#core/schemas'
import type { Scope } from '#fleet/access/scopes'
import type { Queryable } from '#postgres/pool'

/** The chat services, whose incoming webhooks have formats of their own. */
export const chatKinds = ['slack', 'teams', 'mattermost'] as const
export type ChatKind = (typeof chatKinds)[number]

const lastMessage = z.object({
  state: z.enum(['waiting', 'sent', 'failed']),
  at: instantOut().describe('When it was sent or given up, or when it was requested while it waits.'),
  error: z.string().nullable().describe('Why the last attempt failed; null otherwise.'),
})

/** An incoming webhook of a chat service. Its URL is a secret, of which only the host is shown. */
export const chatChannelSchema = z
  .object({
    id: uuid(),
    name: text(),
    kind: z.enum(chatKinds),
    host: z.string().describe('The host of the URL. The URL is not returned.'),
    lastTest: lastMessage.nullable().describe('The last test; null if there was none in the last three days.'),
    lastAlert: lastMessage
      .nullable()
      .describe('The last message about alerts; null if there was none in the last three days.'),
    createdAt: instantOut(),
  })
  .meta({ id: 'ChatChannel' })

export type ChatChannel = z.infer<typeof chatChannelSchema>

export type ChannelReference = { organizationId: string; channelId: string }

/** The access of verbs on a channel. */
export const channelAccess = ({ organizationId, channelId }: ChannelReference, scope: Scope) =>
  ({ scope, noun: 'chat channel', organizationId, id: channelId }) as const

/** The place to which the encrypted URL of a channel is bound. */
export const channelUrlPlace = (channelId: string) => ['chat-channel', channelId]

const lastMessageSql = (condition: string) => `(
  SELECT json_build_object(
    'state', CASE WHEN m.sent_at IS NOT NULL THEN 'sent' WHEN m.failed_at IS NOT NULL THEN 'failed' ELSE 'waiting' END,
    'at', to_char(coalesce(m.sent_at, m.failed_at, m.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'error', m.last_error)
  FROM chat_message m WHERE m.channel_id = c.id AND ${condition} ORDER BY m.id DESC LIMIT 1)`

/** The columns of a `ChatChannel`, for SELECT and RETURNING on `chat_channel` named `c`. */
export const channelColumns = `c.id, c.name, c.kind, c.host, ${lastMessageSql('m.rule_id IS NULL')} AS "lastTest",
  ${lastMessageSql('m.rule_id IS NOT NULL')} AS "lastAlert", c.created_at AS "createdAt"`

/** Stores where the page is, for the links in messages to channels. */
export async function setPageOfChannels(db: Queryable, pageUrl: string): Promise<void> {
  await db.query('UPDATE chat_channel SET base_url = $1 WHERE base_url <> $1', [pageUrl])
}
