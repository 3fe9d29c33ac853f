import { newId } from '#core/ids'
import { hasMailServerSql } from '#messages/mail-server'
import { confirmedPerson } from '#people/person'
import { lockName } from '#postgres/name-lock'
import { named } from '#postgres/named'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** Whether people can get sign-in links by e-mail: a mail server is set up. */
export async function sendsSignInLinks(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ sends: boolean }>(`SELECT ${hasMailServerSql} AS sends`)
  return rows[0]?.sends ?? false
}

const maxMessagesPerHour = 5

/**
 * Queues a message with a sign-in link to an address. Does nothing for an address that belongs to nobody, within a minute of the
 * last message, and after five messages within an hour; the caller must not learn which.
 */
export async function requestSignInMail(pool: Pool, request: { email: string; pageUrl: string }): Promise<void> {
  const { pageUrl } = request
  const email = request.email.toLowerCase()
  await transaction(pool, async (connection) => {
    // Requests at the same time would not see each other's message.
    await lockName(connection, `sign-in-mail:${email}`)
    await connection.query(
      named(
        `INSERT INTO sign_in_mail (id, organization_id, email, base_url)
       SELECT $id, r.organization_id, p.email, $pageUrl FROM person p JOIN person_role r ON r.person_id = p.id
       WHERE p.email = $email
         AND NOT EXISTS (SELECT FROM sign_in_mail m WHERE m.email = $email AND m.created_at > now() - interval '1 minute')
         AND (SELECT count(*) FROM sign_in_mail m WHERE m.email = $email AND m.created_at > now() - interval '1 hour')
           < ${maxMessagesPerHour}
       ORDER BY r.joined_at LIMIT 1`,
        { id: newId(), email, pageUrl },
      ),
    )
  })
}

/** The person who used a link that was e-mailed to this address. Undefined if the person is in no organization any more. */
export const personOfMailedLink = (pool: Pool, email: string): Promise<string | undefined> =>
  transaction(pool, (connection) => confirmedPerson(connection, email))
