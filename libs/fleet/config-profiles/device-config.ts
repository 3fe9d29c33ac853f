import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { settingsDigest } from '#core/settings-digest'
import { findAppliedProfile } from '#fleet/config-profiles/applied'
import { configStateSql, configStates } from '#fleet/config-profiles/config-state'
import { publicSettings, renderPinned } from '#fleet/config-profiles/delivered'
import { settingsDifferences } from '#fleet/config-profiles/differences'
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

const settingsOut = z.record(z.string(), z.unknown())

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
    desired: z
      .object({ profileId: uuid(), version: z.int(), digest: z.string(), settings: settingsOut })
      .nullable()
      .describe('What was last applied to the device, with its values, without secrets. Null if nothing was.'),
    reported: z
      .object({
        profileId: uuid(),
        version: z.int(),
        digest: z.string(),
        settings: settingsOut.nullable().describe('Null if the device sent only the digest.'),
        reportedAt: instantOut(),
      })
      .nullable()
      .describe('What the device says to run. Null if it never said it.'),
    differences: z
      .array(
        z.object({
          path: z.string().describe('A JSON pointer in the settings.'),
          desired: z.unknown().describe('Null if the profile does not set it.'),
          reported: z.unknown().describe('Null if the device does not have it.'),
        }),
      )
      .describe('At most 500, without secrets.'),
    state: z
      .enum(configStates)
      .describe(
        '`pending`: a job that applies a profile is open, or the device has not reported since one was applied. `unknown`: no profile was applied, or the device does not report what it runs.',
      ),
    missingVariables: z
      .array(z.string())
      .describe('Variables without a value and without a default. The profile cannot be applied to the device.'),
  })
  .meta({ id: 'DeviceConfig' })

type DeviceConfig = z.infer<typeof deviceConfigSchema>
type Drift = Pick<DeviceConfig, 'desired' | 'reported' | 'differences' | 'state'>

/**
 * The present version of a profile with the values of a device, and whether the device runs what was last applied to it
 * (`config:read`). Throws 404 for both, and 403.
 */
export async function getDeviceConfig(
  ctx: FleetContext,
  { deviceId, profileId }: { deviceId: string; profileId?: string | undefined },
): Promise<DeviceConfig> {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'config:read')
  const wanted = profileId ?? device.configProfile?.id
  const { organizationId } = device
  return tenantTransaction(ctx, [organizationId], async (connection) => {
    const drift = await readDrift(ctx, connection, { organizationId, deviceId })
    if (wanted === undefined || (profileId === undefined && !(await exists(connection, organizationId, wanted)))) {
      return { deviceId, profile: null, settings: null, variables: [], missingVariables: [], ...drift }
    }
    const profile = await readProfile(connection, { organizationId, profileId: wanted })
    return { deviceId, ...(await renderFor(ctx, connection, { organizationId, deviceId, profile })), ...drift }
  })
}

/** What was applied to a device, what it says to run, and where the two differ. */
async function readDrift(
  { keyring }: FleetContext,
  connection: Connection,
  { organizationId, deviceId }: { organizationId: string; deviceId: string },
): Promise<Drift> {
  const applied = await findAppliedProfile(connection, { organizationId, deviceId })
  const rendered = applied && (await renderPinned({ pool: connection, keyring }, applied))
  const settings = rendered && publicSettings(rendered)
  const desired =
    applied && settings
      ? { profileId: applied.profileId, version: applied.version, digest: settingsDigest(settings), settings }
      : null
  const { state, ...stored } = await queryEntity<Pick<Drift, 'state'> & Nullable<NonNullable<Drift['reported']>>>(
    connection,
    `SELECT ${configStateSql} AS state, r.profile_id AS "profileId", r.version, r.digest, r.settings,
       r.reported_at AS "reportedAt"
     FROM device d LEFT JOIN device_reported_config r
       ON r.device_id = d.id AND r.organization_id = d.organization_id
     WHERE d.organization_id = $organizationId AND d.id = $deviceId`,
    { organizationId, deviceId },
  )
  const reported = stored.profileId === null ? null : (stored as NonNullable<Drift['reported']>)
  const differences =
    state === 'differs' && reported?.settings ? settingsDifferences(settings ?? {}, reported.settings) : []
  return { desired, reported, differences, state }
}

type Nullable<Row> = { [Name in keyof Row]: Row[Name] | null }

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
): Promise<Omit<DeviceConfig, 'deviceId' | keyof Drift>> {
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
