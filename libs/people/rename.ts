import { ServiceError } from '#core/errors'
import { personIdOf } from '#fleet/access/person-principal'
import type { Principal } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { transaction } from '#postgres/pool'

/** Changes the name of the calling person, in all organizations of the person. Throws 403 `person_required` for other callers. */
export async function rename(ctx: FleetContext, { name }: { name: string }): Promise<Principal> {
  const { pool, principal, requestId } = ctx
  const personId = personIdOf(principal.id)
  if (personId === undefined)
    throw new ServiceError(
      403,
      'person_required',
      'Only people who joined with an invitation change their name here. An identity provider states the names of its users.',
    )
  const renamed = { ...principal, name }
  await transaction(pool, async (connection) => {
    await connection.query('UPDATE person SET name = $2 WHERE id = $1', [personId, name])
    const organizationIds = [...principal.grants.keys()]
    const entry = { action: 'person.renamed', subjectId: personId, detail: { name } }
    const entries = organizationIds.map((organizationId) => ({ organizationId, ...entry }))
    await auditCaller({ principal: renamed, requestId }, connection, ...entries)
  })
  return renamed
}
