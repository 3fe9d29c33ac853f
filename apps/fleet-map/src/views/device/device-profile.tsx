import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Device, DeviceConfig } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { configStateLabel, jobLook } from '../../components/label-text.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { type Column, Table } from '../../components/table.tsx'
import { holds } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { DeviceSettingsDialog } from '../variables/device-settings.tsx'
import { VariableText } from '../variables/variables.tsx'

/** The profile that was last applied to the device, and whether it is outdated. */
export function DeviceProfile({ device }: { device: Device }) {
  const [isPreviewed, setPreviewed] = useState(false)
  const { organizationId, configProfile } = device
  const maySeeConfig = holds(organizationId, 'config:read')
  const maySeeJobs = holds(organizationId, 'job:read')
  const profile = useResource(
    `profile ${configProfile?.id} ${configProfile?.version} ${maySeeConfig}`,
    async (signal) =>
      configProfile && maySeeConfig ? get(`/orgs/${organizationId}/configs/${configProfile.id}`, { signal }) : null,
    { everyMs: 30_000 },
  )
  const applied = useResource(
    `applied ${device.id} ${configProfile?.version} ${maySeeJobs}`,
    async (signal) => {
      if (!maySeeJobs) return undefined
      const query = { kind: 'apply_config' as const, limit: 1 }
      return (await get(`/devices/${device.id}/jobs`, { signal, query })).items[0]
    },
    { everyMs: 30_000 },
  )
  const job = applied.value
  const current = profile.value?.version
  const isDeleted = profile.error?.status === 404
  const isBehind = configProfile !== null && current !== undefined && current > configProfile.version
  const versionText = isDeleted
    ? 'The profile was deleted'
    : isBehind
      ? `Outdated: the current version is ${current}`
      : 'The current version was applied'
  return (
    <section class="card panel" aria-label="Profile">
      <h2>Profile</h2>
      {configProfile === null ? (
        <p class="label">No profile was applied to this device.</p>
      ) : (
        <>
          <p>
            <a href={linkTo('profiles', { profile: configProfile.id })}>
              {profile.value?.name ?? (isDeleted ? 'Deleted profile' : 'Profile')}
            </a>
            , version {configProfile.version}
          </p>
          {maySeeConfig && (profile.value || profile.error) ? (
            <Drift device={device} round={job?.status} version={versionText} isBehind={isBehind || isDeleted} />
          ) : null}
        </>
      )}
      {job && job.status !== 'succeeded' ? (
        <p class="label">
          Last attempt to apply a profile: {jobLook[job.status].label.toLowerCase()}, {ago(job.updatedAt)}
          {job.error ? `. ${job.error.detail}` : ''}
        </p>
      ) : null}
      {maySeeConfig ? (
        <button type="button" class="button small" onClick={() => setPreviewed(true)}>
          Settings for this device
        </button>
      ) : null}
      {isPreviewed ? <DeviceSettingsDialog device={device} onClose={() => setPreviewed(false)} /> : null}
    </section>
  )
}

type DriftProps = { device: Device; round: string | undefined; version: string; isBehind: boolean }

/**
 * The one state of the profile: what the device runs if that differs from what was applied or waits, else whether the
 * current version was applied. With the differences, and the way to apply it again.
 */
function Drift({ device, round, version, isBehind }: DriftProps) {
  const config = useResource(
    `config of ${device.id} ${round}`,
    (signal) => get(`/devices/${device.id}/config`, { signal }),
    { everyMs: 30_000 },
  )
  if (!config.value) return null
  const { state, differences, profile } = config.value
  const isShown = state === 'differs' || state === 'pending'
  return (
    <>
      <p class="status">
        <span
          class="swatch"
          style={{ background: `var(--${isShown ? stateColor[state] : isBehind ? 'warn' : 'ok'})` }}
        />
        {isShown ? configStateLabel[state] : version}
      </p>
      {isShown && isBehind ? <p class="label">{version}</p> : null}
      {differences.length > 0 ? (
        <Table caption="Differences" columns={columns} rows={differences} keyOf={({ path }) => path} />
      ) : null}
      {state === 'differs' && profile ? (
        <ForScope org={device.organizationId} scope="config:apply">
          <a
            class="button small"
            href={linkTo('jobs', { new: 'apply_config', profile: profile.id, target: 'devices', device: device.id })}
          >
            Apply again
          </a>
        </ForScope>
      ) : null}
    </>
  )
}

const stateColor = { pending: 'accent', differs: 'warn' } as const

type Difference = DeviceConfig['differences'][number]

const columns: Column<Difference>[] = [
  { title: 'Setting', cell: ({ path }) => <code>{path}</code> },
  { title: 'Applied', cell: ({ desired }) => <VariableText value={desired} /> },
  { title: 'On the device', cell: ({ reported }) => <VariableText value={reported} /> },
]
