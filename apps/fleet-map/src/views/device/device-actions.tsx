import { useState } from 'preact/hooks'
import { all, dryRun, patch, post } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ActionMenu } from '../../components/menu.tsx'
import { useResource } from '../../components/resource.ts'
import { holds, type Scope } from '../../state/session.ts'
import { goTo, linkTo } from '../../state/url.ts'
import { PlannedBatch } from '../jobs/planned-batch.tsx'

/** Creates a reboot job for one device. */
export const ConfirmReboot = ({ device, onClose }: { device: Device; onClose: () => void }) => (
  <Dialog
    title={`Reboot ${device.name}?`}
    submitLabel="Reboot"
    onClose={onClose}
    onSubmit={async () => {
      await post(`/devices/${device.id}/jobs`, { body: { kind: 'reboot' } })
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
  const [chosen, setChosen] = useState('')
  const profiles = useResource(`profiles ${device.organizationId}`, () => all(`/orgs/${device.organizationId}/configs`))
  const fitting = (profiles.value ?? []).filter((profile) => profile.model === null || profile.model === device.model)
  return (
    <Dialog
      title={`Apply a profile to ${device.name}`}
      submitLabel="Apply"
      onClose={onClose}
      onSubmit={async () => {
        const batch = await post(`/orgs/${device.organizationId}/configs/${chosen}/apply`, {
          body: { deviceIds: [device.id] },
        })
        onClose()
        goTo('jobs', { batch: batch.id, org: device.organizationId })
      }}
    >
      <label class="field">
        <span>Profile</span>
        <select class="input" required value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value="">Choose a profile</option>
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
      {chosen ? <PlannedApplication key={chosen} device={device} profileId={chosen} /> : null}
    </Dialog>
  )
}

/** What the application of a profile to one device will do. */
function PlannedApplication({ device: { id, organizationId }, profileId }: { device: Device; profileId: string }) {
  const plan = useResource(`application of ${profileId} to ${id}`, (signal) =>
    dryRun(`/orgs/${organizationId}/configs/${profileId}/apply`, { body: { deviceIds: [id] }, signal }),
  )
  return <PlannedBatch plan={plan} />
}

type ConfirmDisableProps = { device: Device; onClose: () => void; onChanged: () => void }

/** Disables a device, or enables a disabled one. */
export function ConfirmDisable({ device, onClose, onChanged }: ConfirmDisableProps) {
  const isDisabled = device.status === 'disabled'
  return (
    <Dialog
      title={`${isDisabled ? 'Enable' : 'Disable'} ${device.name}?`}
      submitLabel={isDisabled ? 'Enable' : 'Disable'}
      danger={!isDisabled}
      onClose={onClose}
      onSubmit={async () => {
        await patch(`/devices/${device.id}`, { body: { status: isDisabled ? 'offline' : 'disabled' } })
        onChanged()
      }}
    >
      <p>
        {isDisabled
          ? 'The service accepts reports of the router again.'
          : 'The service rejects its reports and gives it no jobs until you enable it. Jobs that it has not taken are rejected.'}
      </p>
    </Dialog>
  )
}

type ActionsProps = { device: Device; onReboot: () => void; onApply: () => void; reload: () => void }

/** The actions on a device. */
export function Actions({ device, onReboot, onApply, reload }: ActionsProps) {
  const [asks, setAsks] = useState(false)
  const disabled = device.status === 'disabled'
  const may = (scope: Scope) => holds(device.organizationId, scope)
  const actions = [
    ...(may('job:create') ? [{ label: 'Reboot', onChoose: onReboot, disabled }] : []),
    ...(may('config:apply') ? [{ label: 'Apply profile', onChoose: onApply, disabled }] : []),
    ...(may('device:update')
      ? [{ label: disabled ? 'Enable' : 'Disable', onChoose: () => setAsks(true), danger: !disabled }]
      : []),
  ]
  return (
    <section>
      <div class="toolbar">
        <a class="button primary" href={linkTo('device', { id: device.id })}>
          Details
        </a>
        {actions.length > 0 ? <ActionMenu actions={actions} /> : null}
      </div>
      {asks ? (
        <ConfirmDisable
          device={device}
          onClose={() => setAsks(false)}
          onChanged={() => {
            setAsks(false)
            reload()
          }}
        />
      ) : null}
    </section>
  )
}
