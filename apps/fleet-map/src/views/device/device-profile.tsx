import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { jobLook } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { DeviceSettingsDialog } from '../variables/device-settings.tsx'

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
      {job && job.status !== 'succeeded' ? (
        <p class="label">
          Last attempt to apply a profile: {jobLook[job.status].label.toLowerCase()}, {ago(job.updatedAt)}
          {job.error ? `. ${job.error.detail}` : ''}
        </p>
      ) : null}
      <button type="button" class="button small" onClick={() => setPreviewed(true)}>
        Settings for this device
      </button>
      {isPreviewed ? <DeviceSettingsDialog device={device} onClose={() => setPreviewed(false)} /> : null}
    </section>
  )
}
