import { z } from 'zod'
import { badRequest, notFound } from '#core/errors'
import { instantOut } from '#core/schemas'
import { auditCaller } from '#fleet/audit/record'
import { openTree, type StoredSettings, sealTree } from '#fleet/config-profiles/sealed-settings'
import { readVariables } from '#fleet/config-profiles/settings'
import { type Json, pointerTo, type SettingsObject, sameSettings } from '#fleet/config-profiles/settings-tree'
import { isVariableName, nameRule } from '#fleet/config-profiles/variables/names'
import { placeOfSet } from '#fleet/config-profiles/variables/snapshot'
import type { FleetContext } from '#fleet/context'
import { changeDevice, findDevice } from '#fleet/devices/device'
import { tenantTransaction } from '#fleet/tenant'
import { changeObject, createObject, inOrganization, withObject } from '#fleet/verbs'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

export const variableSetSchema = z
  .object({
    variables: z
      .record(z.string(), z.unknown())
      .describe('Values by name. Secrets are replaced by `{"$secret": {"set": true, "updatedAt": …}}`.'),
    updatedAt: instantOut().nullable().describe('Null if no values were ever set.'),
  })
  .meta({ id: 'VariableSet' })

export const groupVariableSetSchema = variableSetSchema
  .extend({ priority: z.int().describe('Of two groups with a value, the one with the higher priority wins.') })
  .meta({ id: 'GroupVariableSet' })

type VariableSet = z.infer<typeof groupVariableSetSchema>

/** A set with the number of its last change; 0 if there was none. `priority` is 0 but for groups. */
export type VariableSetRevision = { set: VariableSet; revision: string }

/** Whose variables. */
export type VariableOwner =
  | { organizationId: string }
  | { organizationId: string; groupId: string }
  | { deviceId: string }

type SetKey = { organizationId: string; groupId: string | null; deviceId: string | null }

/** `precondition` receives the present set and may throw 412. */
type Replacement = {
  owner: VariableOwner
  variables: Json
  /** Only for groups. Undefined: as before. */
  priority?: number | undefined
  precondition: (current: VariableSetRevision) => void
}

const ownerOf = ({ organizationId, groupId, deviceId }: SetKey): string => deviceId ?? groupId ?? organizationId

/** The variables of an organization, group or device, with secrets redacted (`config:read`). Throws 404 and 403. */
export const getVariables = (ctx: FleetContext, owner: VariableOwner): Promise<VariableSetRevision> =>
  readingOwner(ctx, owner, async (connection, key) => (await findSet(connection, key)) ?? emptySet)

/**
 * Replaces the variables of an organization, group or device (`config:write`). A redaction keeps a secret. Throws 404, 403, 402,
 * and 400 as `readVariables` does and for a name that is not allowed.
 */
export const replaceVariables = (
  ctx: FleetContext,
  { owner, variables: input, priority, precondition }: Replacement,
): Promise<VariableSetRevision> =>
  changingOwner(ctx, owner, async (connection, key) => {
    const current = await lockSet(connection, key)
    const place = placeOfSet(key.organizationId, ownerOf(key))
    const stored = { settings: current.set.variables as StoredSettings['settings'], secrets: current.secrets }
    const before = await openTree(connection, ctx.keyring, place, stored)
    const variables = withoutNull(readVariables(before, requireNames(input), ctx.clock()))
    precondition(current)
    const next = { priority: priority ?? current.set.priority }
    if (sameSettings(before, variables) && next.priority === current.set.priority) return current
    const { settings, secrets } = await sealTree(connection, ctx.keyring, place, variables)
    await queryEntities(
      connection,
      `UPDATE config_variable_set
       SET variables = $settings, secrets = $secrets, priority = $priority, revision = revision + 1, updated_at = now()
       WHERE organization_id = $organizationId AND owner_id = $ownerId`,
      { ...next, organizationId: key.organizationId, ownerId: ownerOf(key), settings, secrets },
    )
    await auditChange(ctx, connection, key, { before, variables })
    return (await findSet(connection, key)) ?? emptySet
  })

const emptySet: VariableSetRevision = { set: { variables: {}, priority: 0, updatedAt: null }, revision: '0' }

type StoredSet = VariableSetRevision & Pick<StoredSettings, 'secrets'>

const selectSet = `SELECT variables, secrets, priority, revision, CASE WHEN revision > 0 THEN updated_at END AS "updatedAt"
  FROM config_variable_set WHERE organization_id = $organizationId AND owner_id = $ownerId`

type SetRow = VariableSet & { revision: string } & Pick<StoredSettings, 'secrets'>

const storedSet = ({ revision, secrets, ...set }: SetRow): StoredSet => ({ set, revision, secrets })

async function findSet(connection: Connection, key: SetKey): Promise<VariableSetRevision | undefined> {
  const place = { organizationId: key.organizationId, ownerId: ownerOf(key) }
  const [row] = await queryEntities<SetRow>(connection, selectSet, place)
  return row && storedSet(row)
}

/** Locks the set until the transaction ends; creates an empty one first, so that two changes never begin at the same time. */
async function lockSet(connection: Connection, key: SetKey): Promise<StoredSet> {
  const place = { organizationId: key.organizationId, ownerId: ownerOf(key) }
  await queryEntities(
    connection,
    `INSERT INTO config_variable_set
       (organization_id, owner_id, group_id, device_id, variables, secrets, revision, updated_at)
     VALUES ($organizationId, $ownerId, $groupId, $deviceId, '{}', '{}', 0, now()) ON CONFLICT DO NOTHING`,
    { ...key, ...place },
  )
  return storedSet(await queryEntity<SetRow>(connection, `${selectSet} FOR UPDATE`, place))
}

function requireNames(input: Json): Json {
  const names = typeof input === 'object' && input !== null ? Object.keys(input) : []
  const errors = names
    .filter((name) => !isVariableName(name))
    .map((name) => ({
      pointer: pointerTo('/variables', name),
      code: 'invalid_variable_name',
      detail: `Use ${nameRule}`,
    }))
  if (errors[0]) throw badRequest(errors[0].detail, errors.slice(0, 20), 'invalid_variable_name')
  return input
}

/** Null means that a variable has no value here. */
const withoutNull = (variables: SettingsObject): SettingsObject =>
  Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== null))

/** Records which variables changed, without their values. */
function auditChange(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, groupId, deviceId }: SetKey,
  { before, variables }: { before: SettingsObject; variables: SettingsObject },
): Promise<void> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(variables)])].sort()
  const changed = names.filter((name) => {
    const [from, to] = [before[name], variables[name]]
    return from === undefined || to === undefined || !sameSettings(from, to)
  })
  const noun = deviceId !== null ? 'device' : groupId !== null ? 'group' : 'organization'
  return auditCaller(ctx, connection, {
    organizationId,
    action: `${noun}.variables_changed`,
    subjectId: deviceId ?? groupId ?? organizationId,
    detail: { changed },
  })
}

type OwnerWork<Result> = (connection: Connection, key: SetKey) => Promise<Result>

async function readingOwner<Result>(ctx: FleetContext, owner: VariableOwner, work: OwnerWork<Result>): Promise<Result> {
  const scope = 'config:read'
  if ('deviceId' in owner) {
    const { id, organizationId } = await findDevice(ctx, ctx.pool, owner.deviceId, scope)
    return tenantTransaction(ctx, [organizationId], (connection) =>
      work(connection, { organizationId, groupId: null, deviceId: id }),
    )
  }
  const { organizationId } = owner
  if (!('groupId' in owner)) {
    return inOrganization(ctx, { scope, organizationId }, (connection) =>
      work(connection, { organizationId, groupId: null, deviceId: null }),
    )
  }
  const { groupId } = owner
  return withObject(ctx, { scope, noun: 'group', organizationId, id: groupId }, async (connection) => {
    const { rowCount } = await connection.query('SELECT FROM device_group WHERE organization_id = $1 AND id = $2', [
      organizationId,
      groupId,
    ])
    if (!rowCount) throw notFound('group', groupId)
    return work(connection, { organizationId, groupId, deviceId: null })
  })
}

async function changingOwner<Result>(
  ctx: FleetContext,
  owner: VariableOwner,
  work: OwnerWork<Result>,
): Promise<Result> {
  const scope = 'config:write'
  if ('deviceId' in owner) {
    const device = await findDevice(ctx, ctx.pool, owner.deviceId, scope)
    return changeDevice(ctx, device, scope, (connection, { id, organizationId }) =>
      work(connection, { organizationId, groupId: null, deviceId: id }),
    )
  }
  const { organizationId } = owner
  if ('groupId' in owner) {
    const { groupId } = owner
    return changeObject(ctx, { scope, noun: 'group', organizationId, id: groupId }, (connection) =>
      work(connection, { organizationId, groupId, deviceId: null }),
    )
  }
  return createObject(ctx, { scope, organizationId }, (connection) =>
    work(connection, { organizationId, groupId: null, deviceId: null }),
  )
}
