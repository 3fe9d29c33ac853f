import { z } from 'zod'
import { uuid } from '#core/schemas'
import { type PinnedVersion, publicSettings, renderPinned } from '#fleet/config-profiles/delivered'
import { settingsDifferences } from '#fleet/config-profiles/differences'
import { loadSettings } from '#fleet/config-profiles/secrets'
import { openVariables } from '#fleet/config-profiles/variables/snapshot'
import { renderSettings } from '#fleet/config-profiles/variables/template'
import type { FleetContext } from '#fleet/context'
import type { PlannedJob } from '#fleet/jobs/batches/create'
import { batchPlanSchema } from '#fleet/jobs/batches/plan'
import { queryEntities } from '#postgres/entities'
import type { Connection } from '#postgres/pool'

const maxDifferences = 100

const plannedDeviceSchema = z
  .object({
    deviceId: uuid(),
    name: z.string(),
    differences: z
      .array(
        z.object({
          path: z.string().describe('A JSON pointer in the settings.'),
          desired: z.unknown().describe('What the job sends; null if the profile does not set it.'),
          reported: z
            .unknown()
            .describe(
              'What the device runs: what it reported or, without a report, what was applied last. Null if it does not have it.',
            ),
        }),
      )
      .describe(`At most ${maxDifferences}, without secrets.`),
  })
  .meta({ id: 'PlannedDevice' })

export type PlannedDevice = z.infer<typeof plannedDeviceSchema>

export const applicationPlanSchema = batchPlanSchema
  .extend({
    devices: z
      .array(plannedDeviceSchema)
      .nullable()
      .describe(
        'The settings that change on the first devices that get a job, by their ids. Null without `config:read`.',
      ),
    nextCursor: z.string().nullable().describe('For further `devices`.'),
  })
  .meta({ id: 'ConfigApplicationPlan' })

type Version = Omit<PinnedVersion, 'variables'>

/** The settings that would change on devices that receive a version, compared with what they run, as far as it is known. */
export async function plannedChanges(
  { keyring }: FleetContext,
  connection: Connection,
  version: Version,
  jobs: readonly PlannedJob[],
): Promise<PlannedDevice[]> {
  const { organizationId } = version
  const template = await loadSettings(connection, keyring, version)
  if (!template) throw new Error('The version of the profile is missing.')
  const present = await readPresent(connection, organizationId, jobs)
  const devices: PlannedDevice[] = []
  for (const { deviceId, name, variables } of jobs) {
    const values = variables && (await openVariables(connection, keyring, organizationId, variables))
    const desired = publicSettings(values ? renderSettings(template, values).settings : template)
    const { reported = null, applied } = present.get(deviceId) ?? {}
    const rendered =
      reported === null && applied ? await renderPinned({ pool: connection, keyring }, applied) : undefined
    const differences = settingsDifferences(desired, reported ?? (rendered ? publicSettings(rendered) : {}))
    devices.push({ deviceId, name, differences: differences.slice(0, maxDifferences) })
  }
  return devices
}

type Present = { reported: Record<string, unknown> | null; applied: PinnedVersion | undefined }

/** What devices reported since their last job, and what was applied to them last. */
async function readPresent(
  connection: Connection,
  organizationId: string,
  jobs: readonly PlannedJob[],
): Promise<Map<string, Present>> {
  const rows = await queryEntities<{ id: string; reported: Present['reported'] } & NullableVersion>(
    connection,
    `SELECT d.id, c.settings AS reported, d.config_profile_id AS "profileId", d.config_profile_version AS version, a.variables
     FROM device d
       LEFT JOIN device_reported_config c
         ON c.organization_id = d.organization_id AND c.device_id = d.id AND NOT c.outdated
       LEFT JOIN device_applied_variables a ON a.organization_id = d.organization_id AND a.device_id = d.id
     WHERE d.organization_id = $organizationId AND d.id = ANY ($deviceIds::uuid[])`,
    { organizationId, deviceIds: jobs.map(({ deviceId }) => deviceId) },
  )
  return new Map(
    rows.map(({ id, reported, profileId, version, variables }) => [
      id,
      { reported, applied: profileId === null ? undefined : { organizationId, profileId, version, variables } },
    ]),
  )
}

type NullableVersion = Pick<PinnedVersion, 'version' | 'variables'> & { profileId: string | null }
