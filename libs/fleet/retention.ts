import { deleteUnpinnedVersions } from '#fleet/config-profiles/kept-versions'
import type { SystemContext } from '#fleet/context'
import { deleteInChunks } from '#postgres/delete-in-chunks'
import { type Pool, transaction } from '#postgres/pool'

/**
 * Deletes idempotency records and moments of devices after 24 h, expired device tokens, sign-in links, sessions and invitations,
 * people without organizations, and versions of deleted profiles that no batch pins any more. Returns how many rows.
 */
export async function deleteExpired({ pool, clock }: Pick<SystemContext, 'pool' | 'clock'>): Promise<number> {
  const expired = await deleteInChunks(pool, [
    { table: 'idempotency_record', where: "created_at < now() - interval '24 hours'" },
    { table: 'device_token', where: "expires_at < now() - interval '1 hour'" },
    { table: 'sign_in_link', where: 'expires_at < now()' },
    { table: 'sign_in_session', where: 'expires_at < now()' },
    { table: 'invitation', where: "expires_at < now() - interval '30 days'" },
    { table: 'sign_in_mail', where: "created_at < now() - interval '1 day'" },
    {
      table: 'person',
      where: `joined_at < now() - interval '1 day'
        AND NOT EXISTS (SELECT FROM person_role WHERE person_role.person_id = person.id)`,
    },
    { table: 'device_moment', where: "updated_at < now() - interval '1 day'" },
  ])
  return expired + (await deleteVersions(pool, clock()))
}

async function deleteVersions(pool: Pool, nowMs: number): Promise<number> {
  for (let deleted = 0; ; ) {
    const count = await transaction(pool, (connection) => deleteUnpinnedVersions(connection, { nowMs }))
    if (count === 0) return deleted
    deleted += count
  }
}
