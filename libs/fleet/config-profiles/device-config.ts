import { z } from 'zod'
import { uuid } from '#core/schemas'
import { type Profile, readProfile } from '#fleet/config-profiles/read'
import { redactSettings } from '#fleet/config-profiles/settings-tree'
import { readNeededVariables } from '#fleet/config-profiles/variables/needed'
import { type VariableParameters, variableCtes } from '#fleet/config-profiles/variables/resolve'
import { openVariables, type StoredVariables } from '#fleet/config-profiles/variables/snapshot'
import { renderSettings } from '#fleet/config-profiles/variables/template'
import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { tenantTransaction } from '#fleet/tenant'
import { queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

const sourceSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.enum(['device', 'organization', 'builtIn', 'default']) }),
  z.object({ kind: z.literal('group'), id: uuid(), name: z.string(), priority: z.int() }),
])

const usedVariableSchema = z.object({
  name: z.string(),
  value: z.unknown().describe('Secrets are redacted. Null for `default`: see `settings`.'),
  source: sourceSchema.describe('Where the value is from. `default`: the profile has one at each use.'),
})

export const deviceConfigSchema = z
  .object({
    deviceId: uuid(),
    profile: z
      .object({ id: uuid(), name: z.string(), version: z.int() })
      .nullable()
      .describe('The profile of the query, else the one that was last applied to the device; null if there is none.'),
    settings: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe(
        'What a job that is created now would send, with secrets redacted. References without a value stay as they are. Null without a profile.',
      ),
    variables: z
      .array(usedVariableSchema)
      .describe('The variables that the profile uses and that have a value, by name.'),
    missingVariables: z
      .array(z.string())
      .describe('Variables without a value and without a default. The profile cannot be applied to the device.'),
  })
  .meta({ id: 'DeviceConfig' })

type DeviceConfig = z.infer<typeof deviceConfigSchema>

/** The present version of a profile with the values of a device (`config:read`). Throws 404 for both, and 403. */
export async function getDeviceConfig(
  ctx: FleetContext,
  { deviceId, profileId }: { deviceId: string; profileId?: string | undefined },
): Promise<DeviceConfig> {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'config:read')
  const wanted = profileId ?? device.configProfile?.id
  const { organizationId } = device
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    if (wanted === undefined || (profileId === undefined && !(await exists(connection, organizationId, wanted)))) {
      return { deviceId, profile: null, settings: null, variables: [], missingVariables: [] }
    }
    const profile = await readProfile(connection, { organizationId, profileId: wanted })
    return { deviceId, ...(await renderFor(ctx, connection, { organizationId, deviceId, profile })) }
  })
}

/** False for the profile of a device that was deleted since. */
async function exists(connection: Connection, organizationId: string, profileId: string): Promise<boolean> {
  const { rowCount } = await connection.query('SELECT FROM config_profile WHERE organization_id = $1 AND id = $2', [
    organizationId,
    profileId,
  ])
  return Boolean(rowCount)
}

async function renderFor(
  ctx: FleetContext,
  connection: Connection,
  { organizationId, deviceId, profile }: { organizationId: string; deviceId: string; profile: Profile },
): Promise<Omit<DeviceConfig, 'deviceId'>> {
  const { id, name, version } = profile
  const needed = await readNeededVariables(ctx, connection, { organizationId, profileId: id, version })
  const { parameters } = needed
  const shown = { profile: { id, name, version }, missingVariables: [], variables: [] }
  if (parameters === null) return { ...shown, settings: redactSettings(needed.settings) }
  const stored = await resolveVariables(connection, { organizationId, deviceId, parameters })
  const values = await openVariables(connection, ctx.keyring, organizationId, stored)
  const { settings, missing } = renderSettings(needed.settings, values)
  const variables = parameters.variableNames
    .filter((variable) => !missing.includes(variable))
    .sort()
    .map((variable) => usedVariable(variable, stored))
  return { ...shown, settings: redactSettings(settings), variables, missingVariables: missing }
}

function usedVariable(name: string, stored: StoredVariables): DeviceConfig['variables'][number] {
  const found = stored[name]
  return found ? { name, value: found.value, source: found.source } : { name, value: null, source: { kind: 'default' } }
}

/** The present values of variables for one device, as a job would store them. */
async function resolveVariables(
  connection: Connection,
  {
    organizationId,
    deviceId,
    parameters,
  }: { organizationId: string; deviceId: string; parameters: VariableParameters },
): Promise<StoredVariables> {
  const { variables } = await queryEntity<{ variables: StoredVariables }>(
    connection,
    `WITH target AS MATERIALIZED (
       SELECT d.id, d.name, d.serial, d.model, d.tags, d.updated_at FROM device d
       WHERE d.organization_id = $organizationId AND d.id = $deviceId
     ), ${variableCtes('target')} SELECT variables FROM device_variables`,
    { organizationId, deviceId, ...parameters },
  )
  return variables
}
