import { type ChannelReference, type ChatChannel, channelAccess, channelColumns } from '#alerts/chat/channel'
import { notFound } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'
import { inOrganization, withObject } from '#fleet/verbs'
import { queryEntities } from '#postgres/entities'
import type { Queryable } from '#postgres/pool'

/** The organization's chat channels, newest first, without their URLs (`alert:read`). Throws 404. */
export const listChatChannels = (
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<ChatChannel>> =>
  inOrganization(ctx, { scope: 'alert:read', organizationId }, (connection) =>
    queryPage(
      connection,
      `SELECT ${channelColumns} FROM chat_channel c
       WHERE c.organization_id = $organizationId AND ($after::uuid IS NULL OR c.id < $after)
       ORDER BY c.id DESC LIMIT $limit`,
      { organizationId },
      page,
    ),
  )

/** One chat channel (`alert:read`). Throws 404. */
export const getChatChannel = (ctx: FleetContext, reference: ChannelReference): Promise<ChatChannel> =>
  withObject(ctx, channelAccess(reference, 'alert:read'), (connection) => readChannel(connection, reference))

/** Reads a channel, for verbs that have authorized the caller. Throws 404. */
export async function readChannel(
  db: Queryable,
  { organizationId, channelId }: ChannelReference,
): Promise<ChatChannel> {
  const [channel] = await queryEntities<ChatChannel>(
    db,
    `SELECT ${channelColumns} FROM chat_channel c WHERE c.organization_id = $organizationId AND c.id = $channelId`,
    { organizationId, channelId },
  )
  if (!channel) throw notFound('chat channel', channelId)
  return channel
}
