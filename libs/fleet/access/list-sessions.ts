import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { authorize, requirePlatform } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import { requireOrganization } from '#fleet/organizations/organizations'
import { type Page, type PageRequest, queryPage } from '#fleet/paging'

export const sessionSchema = z
  .object({
    id: uuid(),
    current: z.boolean().describe('Whether it is the session of this request.'),
    userAgent: z.string().nullable().describe('The browser, as it describes itself.'),
    createdAt: instantOut(),
    lastUsedAt: instantOut().nullable().describe('To within a minute.'),
    expiresAt: instantOut(),
  })
  .meta({ id: 'Session' })

export const organizationSessionSchema = sessionSchema
  .extend({
    principalId: z.string().describe('`key:…`, `person:…` or `user:…`, as in audit records.'),
    name: z.string().nullable().describe('The name of the API key, the person or the user.'),
  })
  .meta({ id: 'OrganizationSession' })

export const platformSessionSchema = organizationSessionSchema
  .extend({ platform: z.boolean().describe('Whether it is the session of a platform administrator.') })
  .meta({ id: 'PlatformSession' })

const columns = `s.id, s.id IS NOT DISTINCT FROM $current::uuid AS current, s.user_agent AS "userAgent",
  s.created_at AS "createdAt", u.last_used_at AS "lastUsedAt", s.expires_at AS "expiresAt"`
const organizationColumns = `${columns}, s.principal_id AS "principalId", coalesce(k.name, s.user_name, p.name) AS name`
const isPlatform = '(s.user_platform OR coalesce(k.platform, false))'

/** SQL condition: the session `s` is of an own key of `$organizationId`, or of a person or user with roles in it, but not of the platform. */
export const ofOrganization = `s.expires_at > now() AND NOT s.user_platform AND (
  EXISTS (SELECT FROM api_key own WHERE own.id = s.api_key_id AND own.organization_id = $organizationId AND NOT own.platform)
  OR EXISTS (SELECT FROM person_role own WHERE own.person_id = s.person_id AND own.organization_id = $organizationId)
  OR EXISTS (SELECT FROM jsonb_object_keys(s.user_grants) AS granted WHERE lower(granted) = $organizationId::text))`

/** The caller's own sign-in sessions, newest first. */
export const listSessions = (
  ctx: FleetContext,
  { page }: { page: PageRequest },
): Promise<Page<z.infer<typeof sessionSchema>>> =>
  readSessions(ctx, columns, 's.principal_id = $principalId', { principalId: ctx.principal.id }, page)

/** The sign-in sessions of the people of an organization, newest first (`key:manage`). */
export async function listOrganizationSessions(
  ctx: FleetContext,
  { organizationId, page }: { organizationId: string; page: PageRequest },
): Promise<Page<z.infer<typeof organizationSessionSchema>>> {
  authorize(ctx.principal, organizationId, 'key:manage')
  await requireOrganization(ctx, organizationId)
  return readSessions(ctx, organizationColumns, ofOrganization, { organizationId }, page)
}

/** The sign-in sessions of all people, newest first. `platform`: only those of platform administrators, or no such. Platform only. */
export async function listAllSessions(
  ctx: FleetContext,
  { platform, page }: { platform: boolean | undefined; page: PageRequest },
): Promise<Page<z.infer<typeof platformSessionSchema>>> {
  requirePlatform(ctx.principal)
  const condition = `($platform::boolean IS NULL OR ${isPlatform} = $platform)`
  return readSessions(ctx, `${organizationColumns}, ${isPlatform} AS platform`, condition, { platform }, page)
}

const readSessions = <Session extends { id: string }>(
  { pool, principal }: FleetContext,
  sessionColumns: string,
  condition: string,
  values: Record<string, unknown>,
  page: PageRequest,
): Promise<Page<Session>> =>
  queryPage(
    pool,
    `SELECT ${sessionColumns}
     FROM sign_in_session s LEFT JOIN sign_in_session_use u ON u.session_id = s.id LEFT JOIN api_key k ON k.id = s.api_key_id
       LEFT JOIN person p ON p.id = s.person_id
     WHERE s.expires_at > now() AND ${condition} AND ($after::uuid IS NULL OR s.id < $after)
     ORDER BY s.id DESC LIMIT $limit`,
    { ...values, current: principal.sessionId },
    page,
  )
