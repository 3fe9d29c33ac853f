import { useRef, useState } from 'preact/hooks'
import { ApiError, all, call } from '../api/client.ts'
import type { Batch, Device, Profile } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { FailureNotice } from '../components/notice.tsx'
import { useResource } from '../components/resource.ts'
import { goTo } from '../state/url.ts'

/** Creates a reboot job for one device. */
export const ConfirmReboot = ({ device, onClose }: { device: Device; onClose: () => void }) => (
  <Dialog
    title={`Reboot ${device.name}?`}
    submitLabel="Reboot"
    onClose={onClose}
    onSubmit={async () => {
      await call(`/devices/${device.id}/jobs`, { method: 'POST', body: { kind: 'reboot' } })
      onClose()
    }}
  >
    <p>
      The router receives the job when it next connects. If it does not connect within one hour, the job expires and the
      router does not reboot.
    </p>
  </Dialog>
)

/** Applies one of the organization's profiles to one device. */
export function ApplyDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const select = useRef<HTMLSelectElement>(null)
  const profiles = useResource(`profiles ${device.organizationId}`, () =>
    all<Profile>(`/orgs/${device.organizationId}/configs`),
  )
  const fitting = (profiles.value ?? []).filter((profile) => profile.model === null || profile.model === device.model)
  return (
    <Dialog
      title={`Apply a profile to ${device.name}`}
      submitLabel="Apply"
      onClose={onClose}
      onSubmit={async () => {
        const batch = await call<Batch>(`/orgs/${device.organizationId}/configs/${select.current?.value}/apply`, {
          method: 'POST',
          body: { deviceIds: [device.id] },
        })
        onClose()
        goTo('jobs', { batch: batch.id, org: device.organizationId })
      }}
    >
      <label class="field">
        <span>Profile</span>
        <select class="input" ref={select} required>
          {fitting.map((profile) => (
            <option key={profile.id} value={profile.id}>
              {profile.name} (version {profile.version})
            </option>
          ))}
        </select>
      </label>
      {profiles.value && fitting.length === 0 ? (
        <p class="label">No profile is available for the model {device.model}.</p>
      ) : null}
    </Dialog>
  )
}

type ActionsProps = { device: Device; onReboot: () => void; onApply: () => void; reload: () => void }

/** The actions on a device. */
export function Actions({ device, onReboot, onApply, reload }: ActionsProps) {
  const [error, setError] = useState<ApiError>()
  const disabled = device.status === 'disabled'
  const toggle = async () => {
    setError(undefined)
    try {
      await call(`/devices/${device.id}`, { method: 'PATCH', body: { status: disabled ? 'offline' : 'disabled' } })
      reload()
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
  }
  return (
    <section>
      <div class="toolbar">
        <button type="button" class="button" onClick={onReboot} disabled={disabled}>
          <Icon name="reboot" size={16} /> Reboot
        </button>
        <button type="button" class="button" onClick={onApply} disabled={disabled}>
          Apply profile
        </button>
        <button type="button" class="button danger" onClick={toggle}>
          {disabled ? 'Enable' : 'Disable'}
        </button>
      </div>
      <FailureNotice reason={error?.message} />
    </section>
  )
}
