import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { roleNames } from '#fleet/access/scopes'

/** How long an invitation can be accepted. */
export const invitationDays = 7

export const invitationSchema = z
  .object({
    id: uuid(),
    email: z.string().describe('In lower case.'),
    role: z.enum(roleNames),
    invitedBy: z.string().describe('`key:…`, `person:…` or `user:…`.'),
    invitedByName: z.string().nullable(),
    createdAt: instantOut(),
    expiresAt: instantOut().describe('Until then, the invitation can be accepted.'),
    mail: z
      .object({
        state: z.enum(['waiting', 'sent', 'failed']),
        error: z.string().nullable().describe('Why it was given up, or why the last attempt failed.'),
      })
      .nullable()
      .describe('The message with the link; null if the link was shown, because no mail server was set up.'),
  })
  .meta({ id: 'Invitation' })

export type Invitation = z.infer<typeof invitationSchema>

/** The columns of an `Invitation`, for SELECT and RETURNING. */
export const invitationColumns = `id, email, role, invited_by AS "invitedBy", invited_by_name AS "invitedByName",
  created_at AS "createdAt", expires_at AS "expiresAt",
  CASE WHEN base_url IS NOT NULL THEN jsonb_build_object(
    'state', CASE WHEN sent_at IS NOT NULL THEN 'sent' WHEN failed_at IS NOT NULL THEN 'failed' ELSE 'waiting' END,
    'error', last_error) END AS mail`
