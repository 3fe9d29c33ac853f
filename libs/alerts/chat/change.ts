import {
  type ChannelReference,
  type ChatChannel,
  type ChatKind,
  channelAccess,
  channelColumns,
  channelUrlPlace,
} from '#alerts/chat/channel'
import { readChannel } from '#alerts/chat/read'
import { badRequest, conflict, ServiceError } from '#core/errors'
import { newId } from '#core/ids'
import { type ReachableAddresses, refusalOfUrl } from '#core/public-address'
import { auditObject } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { dataKeyOf } from '#fleet/crypto/data-keys'
import { requireWithinLimit } from '#fleet/organizations/limits'
import { changeObject, createObject } from '#fleet/verbs'
import { queryEntity } from '#postgres/entities'

type NewChannel = {
  organizationId: string
  name: string
  kind: ChatKind
  url: string
  pageUrl: string
  /** The addresses at which receivers may be. Default: those on the public Internet. */
  reachable?: ReachableAddresses | undefined
}

/**
 * Creates a chat channel (`webhook:manage`). Throws 400 `url_refused` for a URL that messages could not reach, 402, and 409
 * `limit_reached`.
 */
export const createChatChannel = (
  ctx: FleetContext,
  { organizationId, name, kind, url, pageUrl, reachable }: NewChannel,
): Promise<ChatChannel> =>
  createObject(ctx, { scope: 'webhook:manage', organizationId }, async (connection) => {
    requireReachable(url, reachable)
    const id = newId()
    const key = await dataKeyOf(connection, ctx.keyring, organizationId)
    const channel = await queryEntity<ChatChannel>(
      connection,
      `INSERT INTO chat_channel AS c (id, organization_id, name, kind, sealed_url, host, base_url, created_at)
       VALUES ($id, $organizationId, $name, $kind, $sealedUrl, $host, $pageUrl, uuid_extract_timestamp($id))
       RETURNING ${channelColumns}`,
      {
        id,
        organizationId,
        name,
        kind,
        sealedUrl: key.seal(url, channelUrlPlace(id)),
        host: new URL(url).host,
        pageUrl,
      },
    )
    await auditObject(ctx, connection, 'chat_channel.created', { organizationId, id }, { name, kind })
    await requireWithinLimit(ctx, connection, { organizationId, limit: 'chatChannels' })
    return channel
  })

type ChannelChange = ChannelReference & {
  name?: string | undefined
  url?: string | undefined
  reachable?: ReachableAddresses | undefined
}

/** Renames a channel, or replaces its URL (`webhook:manage`). Throws 404, 402, and 400 `url_refused`. */
export const updateChatChannel = (ctx: FleetContext, change: ChannelChange): Promise<ChatChannel> => {
  const object = channelAccess(change, 'webhook:manage')
  return changeObject(ctx, object, async (connection) => {
    const { organizationId, channelId, name, url, reachable } = change
    if (url !== undefined) requireReachable(url, reachable)
    const key = await dataKeyOf(connection, ctx.keyring, organizationId)
    const channel = await queryEntity<ChatChannel>(
      connection,
      `UPDATE chat_channel c SET name = coalesce($name, name), sealed_url = coalesce($sealedUrl, sealed_url),
         host = coalesce($host, host)
       WHERE c.organization_id = $organizationId AND c.id = $channelId RETURNING ${channelColumns}`,
      {
        organizationId,
        channelId,
        name,
        sealedUrl: url === undefined ? undefined : key.seal(url, channelUrlPlace(channelId)),
        host: url === undefined ? undefined : new URL(url).host,
      },
    )
    const fields = [...(name === undefined ? [] : ['name']), ...(url === undefined ? [] : ['url'])]
    await auditObject(ctx, connection, 'chat_channel.updated', object, { name: channel.name, fields })
    return channel
  })
}

/** Deletes a channel and its waiting messages (`webhook:manage`). Throws 404, 402, and 409 `chat_channel_in_use`. */
export const deleteChatChannel = (ctx: FleetContext, reference: ChannelReference): Promise<void> => {
  const object = channelAccess(reference, 'webhook:manage')
  return changeObject(ctx, object, async (connection) => {
    const { organizationId, channelId } = reference
    const { name } = await readChannel(connection, reference)
    const { rows } = await connection.query<{ name: string }>(
      'SELECT name FROM alert_rule WHERE organization_id = $1 AND chat_channel_ids @> ARRAY[$2::uuid] ORDER BY id LIMIT 1',
      [organizationId, channelId],
    )
    if (rows[0]) {
      throw conflict(
        'chat_channel_in_use',
        `The alert rule "${rows[0].name}" sends to the channel. Change the rule first.`,
      )
    }
    await connection.query('DELETE FROM chat_channel WHERE organization_id = $1 AND id = $2', [
      organizationId,
      channelId,
    ])
    await auditObject(ctx, connection, 'chat_channel.deleted', object, { name })
  })
}

const testPause = "interval '10 seconds'"

/**
 * Queues a test message to a channel, which is tried once (`webhook:manage`). `lastTest` of the channel then has its result. Throws
 * 404, 402, and 429 within ten seconds of the last test.
 */
export const testChatChannel = (ctx: FleetContext, reference: ChannelReference): Promise<ChatChannel> => {
  const object = channelAccess(reference, 'webhook:manage')
  return changeObject(ctx, object, async (connection) => {
    const { organizationId, channelId } = reference
    const { rowCount } = await connection.query(
      `INSERT INTO chat_message (id, organization_id, channel_id, alert_ids, alert_count, next_attempt_at)
       SELECT uuidv7(), $1, $2, '{}', 0, now()
       WHERE NOT EXISTS (SELECT FROM chat_message
         WHERE channel_id = $2 AND rule_id IS NULL AND created_at > now() - ${testPause})`,
      [organizationId, channelId],
    )
    if (!rowCount) {
      const detail = 'A test was sent a short time ago. Wait ten seconds.'
      throw new ServiceError(429, 'test_too_soon', detail, { headers: { 'Retry-After': '10' } })
    }
    await auditObject(ctx, connection, 'chat_channel.tested', object)
    return readChannel(connection, reference)
  })
}

function requireReachable(url: string, reachable: ReachableAddresses | undefined): void {
  const refusal = refusalOfUrl(url, reachable)
  if (refusal) throw badRequest(refusal, [{ pointer: '/url', code: 'url_refused', detail: refusal }])
}
