import { z } from 'zod'
import { addressStates, reviseRules } from '#alerts/addresses/address'
import { ServiceError } from '#core/errors'
import { pageAddress } from '#core/page-address'
import { hashToken, issueToken, parseToken } from '#core/tokens'
import { recordAudit } from '#fleet/audit/record'
import { systemTransaction } from '#fleet/tenant'
import type { Pool, Queryable } from '#postgres/pool'

type OwnedAddress = { organizationId: string; address: string }

/**
 * Creates a link for the owner of an address, and returns its address on the page. After the #, the token is neither sent to a
 * server nor written to its logs. Only its hash is stored. It can confirm and refuse this address and nothing else.
 */
export async function issueAddressLink(
  db: Queryable,
  { organizationId, address, pageUrl, days }: OwnedAddress & { pageUrl: string; days: number },
): Promise<string> {
  const { token, hash } = issueToken('fla')
  await db.query(
    `INSERT INTO alert_address_link (token_hash, organization_id, address, expires_at)
     VALUES ($1, $2, $3, now() + make_interval(days => $4))`,
    [hash, organizationId, address, days],
  )
  return pageAddress(pageUrl, `alert-mail?link=${token}`)
}

/** Stores where the page is, for the links of addresses that rules of earlier versions and of other settings named. */
export async function setAddressOfPage(db: Queryable, pageUrl: string): Promise<void> {
  await db.query('UPDATE alert_address SET base_url = $1 WHERE base_url IS DISTINCT FROM $1', [pageUrl])
}

export const linkedAddressSchema = z
  .object({
    email: z.string(),
    organizationName: z.string(),
    state: z.enum(addressStates),
  })
  .meta({ id: 'LinkedAddress' })

type LinkedAddress = z.infer<typeof linkedAddressSchema>

/**
 * What a link is about. With an answer, confirms or refuses the address; both can be changed with the link later. Throws 404
 * `link_invalid` for an unknown or expired link.
 */
export async function answerAddressLink(
  { pool, requestId }: { pool: Pool; requestId: string },
  { token, answer }: { token: string; answer?: 'confirm' | 'refuse' | undefined },
): Promise<LinkedAddress> {
  if (parseToken(token)?.prefix !== 'fla') throw linkInvalid()
  return systemTransaction({ pool }, async (connection) => {
    const { rows } = await connection.query<OwnedAddress & LinkedAddress>(
      `SELECT a.organization_id AS "organizationId", a.address, a.address AS email, o.name AS "organizationName", a.state
       FROM alert_address_link l
         JOIN alert_address a ON a.organization_id = l.organization_id AND a.address = l.address
         JOIN organization o ON o.id = a.organization_id
       WHERE l.token_hash = $1 AND (l.expires_at IS NULL OR l.expires_at > now()) FOR UPDATE OF a`,
      [hashToken(token)],
    )
    const [found] = rows
    if (!found) throw linkInvalid()
    const { email, organizationName } = found
    const state = answer === undefined ? found.state : answer === 'confirm' ? 'confirmed' : 'refused'
    if (state !== found.state) {
      await changeState(connection, found, state)
      // Whoever refused can still change their mind.
      if (state === 'refused')
        await connection.query('UPDATE alert_address_link SET expires_at = NULL WHERE token_hash = $1', [
          hashToken(token),
        ])
      const subject = { organizationId: found.organizationId, subjectId: email }
      await recordAudit(connection, [
        { ...subject, action: `alert_address.${state}`, actor: `email:${email}`, requestId },
      ])
    }
    return { email, organizationName, state }
  })
}

async function changeState(
  db: Queryable,
  { organizationId, address }: OwnedAddress,
  state: LinkedAddress['state'],
): Promise<void> {
  await db.query(
    `UPDATE alert_address SET state = $3, confirmed_by = CASE WHEN $3 = 'confirmed' THEN 'link' END, changed_at = now(),
       next_attempt_at = NULL
     WHERE organization_id = $1 AND address = $2`,
    [organizationId, address, state],
  )
  if (state === 'refused')
    await db.query(
      `DELETE FROM alert_mail WHERE organization_id = $1 AND lower(address) = $2 AND sent_at IS NULL AND failed_at IS NULL`,
      [organizationId, address],
    )
  await reviseRules(db, organizationId, [address])
}

const linkInvalid = () =>
  new ServiceError(404, 'link_invalid', 'The link has expired or is incomplete. Ask the organization for a new one.')
