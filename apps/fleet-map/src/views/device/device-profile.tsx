import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Device, DeviceConfig } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { configStateLabel, jobLook } from '../../components/labels.tsx'
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
  const profile = useResource(
    `profile ${configProfile?.id} ${configProfile?.version}`,
    async (signal) => (configProfile ? get(`/orgs/${organizationId}/configs/${configProfile.id}`, { signal }) : null),
    { everyMs: 30_000 },
  )
  const applied = useResource(
    `applied ${device.id} ${configProfile?.version}`,
    async (signal) => {
      const query = { kind: 'apply_config' as const, limit: 1 }
      return (await get(`/devices/${device.id}/jobs`, { signal, query })).items[0]
    },
    { everyMs: 10_000 },
  )
  const job = applied.value
  const current = profile.value?.version
  const isBehind = configProfile !== null && current !== undefined && current > configProfile.version
  return (
    <section class="card panel" aria-label="Profile">
      <h2>Profile</h2>
      {configProfile === null ? (
        <p class="label">No profile was applied to this device.</p>
      ) : (
        <>
          <p>
            <a href={linkTo('profiles', { profile: configProfile.id })}>{profile.value?.name ?? 'Deleted profile'}</a>,
            version {configProfile.version}
          </p>
          <p class="status">
            <span class="swatch" style={{ background: isBehind ? 'var(--warn)' : 'var(--ok)' }} />
            {profile.error?.status === 404
              ? 'The profile was deleted'
              : isBehind
                ? `Outdated: the current version is ${current}`
                : 'Up to date'}
          </p>
        </>
      )}
      {configProfile && holds(organizationId, 'config:read') ? <Drift device={device} round={job?.status} /> : null}
      {job && job.status !== 'succeeded' ? (
        <p class="label">
          Last attempt to apply a profile: {jobLook[job.status].label.toLowerCase()}, {ago(job.updatedAt)}
          {job.error ? `. ${job.error.detail}` : ''}
        </p>
      ) : null}
      {holds(organizationId, 'config:read') ? (
        <button type="button" class="button small" onClick={() => setPreviewed(true)}>
          Settings for this device
        </button>
      ) : null}
      {isPreviewed ? <DeviceSettingsDialog device={device} onClose={() => setPreviewed(false)} /> : null}
    </section>
  )
}

/** Whether the device runs what was applied to it, where it differs, and the way to apply it again. */
function Drift({ device, round }: { device: Device; round: string | undefined }) {
  const config = useResource(
    `config of ${device.id} ${round}`,
    (signal) => get(`/devices/${device.id}/config`, { signal }),
    { everyMs: 30_000 },
  )
  if (!config.value || config.value.state === 'unknown') return null
  const { state, differences, profile } = config.value
  return (
    <>
      <p class="status">
        <span class="swatch" style={{ background: `var(--${stateColor[state]})` }} />
        {configStateLabel[state]}
      </p>
      {differences.length > 0 ? (
        <Table caption="Differences" columns={columns} rows={differences} keyOf={({ path }) => path} />
      ) : null}
      {state === 'differs' && profile ? (
        <a
          class="button small"
          href={linkTo('jobs', { new: 'apply_config', profile: profile.id, target: 'devices', device: device.id })}
        >
          Apply again
        </a>
      ) : null}
    </>
  )
}

const stateColor = { inSync: 'ok', pending: 'accent', differs: 'warn' } as const

type Difference = DeviceConfig['differences'][number]

const columns: Column<Difference>[] = [
  { title: 'Setting', cell: ({ path }) => <code>{path}</code> },
  { title: 'Applied', cell: ({ desired }) => <VariableText value={desired} /> },
  { title: 'On the device', cell: ({ reported }) => <VariableText value={reported} /> },
]
