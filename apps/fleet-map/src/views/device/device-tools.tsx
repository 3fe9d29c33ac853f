import { useState } from 'preact/hooks'
import { post, remove } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { type Entity, ifMatch } from '../../components/entity.ts'
import { Icon } from '../../components/icon.tsx'
import { ActionMenu, type MenuAction } from '../../components/menu.tsx'
import { holds, organizations, type Scope } from '../../state/session.ts'
import { goTo, linkTo } from '../../state/url.ts'
import { ApplyDialog, ConfirmDisable, ConfirmReboot } from './device-actions.tsx'
import { EditDevice } from './edit-device.tsx'
import { ExportHistory } from './export-history.tsx'

type DeviceToolsProps = { device: Entity<Device>; onChanged: () => void }
type Open = 'edit' | 'export' | 'reboot' | 'diagnostics' | 'apply' | 'disable' | 'transfer' | 'delete' | null

/** The actions on a device. Those that take something away ask first. */
export function DeviceTools({ device: entity, onChanged }: DeviceToolsProps) {
  const device = entity.value
  const [open, setOpen] = useState<Open>(null)
  const isDisabled = device.status === 'disabled'
  const close = () => setOpen(null)
  const done = () => {
    close()
    onChanged()
  }
  /** An action that the caller may do. */
  const action = (
    what: NonNullable<Open>,
    label: string,
    scope: Scope,
    { danger = false, needsEnabled = false } = {},
  ): MenuAction[] =>
    holds(device.organizationId, scope)
      ? [{ label, danger, disabled: needsEnabled && isDisabled, onChoose: () => setOpen(what) }]
      : []
  const actions = [
    ...action('edit', 'Edit', 'device:update'),
    ...action('reboot', 'Reboot', 'job:create', { needsEnabled: true }),
    ...action('diagnostics', 'Collect diagnostics', 'job:create', { needsEnabled: true }),
    ...action('apply', 'Apply profile', 'config:apply', { needsEnabled: true }),
    ...action('export', 'Export history', 'telemetry:read'),
    ...action('disable', isDisabled ? 'Enable' : 'Disable', 'device:update'),
    ...((organizations.value?.length ?? 0) > 1 ? action('transfer', 'Transfer', 'device:transfer') : []),
    ...action('delete', 'Delete', 'device:delete', { danger: true }),
  ]
  const { lat, lon } = device.location ?? {}
  const where = lat === undefined || lon === undefined ? {} : { lat: lat.toFixed(4), lon: lon.toFixed(4), z: '13' }
  return (
    <div class="toolbar">
      <a class="button primary" href={linkTo('map', { device: device.id, ...where })}>
        <Icon name="map" size={16} /> Show on map
      </a>
      {actions.length > 0 ? <ActionMenu actions={actions} /> : null}
      {open === 'edit' ? <EditDevice entity={entity} onClose={close} onSaved={done} /> : null}
      {open === 'export' ? <ExportHistory device={device} onClose={close} /> : null}
      {open === 'reboot' ? <ConfirmReboot device={device} onClose={done} /> : null}
      {open === 'apply' ? <ApplyDialog device={device} onClose={close} /> : null}
      {open === 'disable' ? <ConfirmDisable device={device} onClose={close} onChanged={done} /> : null}
      {open === 'diagnostics' ? (
        <Dialog
          title={`Collect diagnostics of ${device.name}?`}
          submitLabel="Collect"
          onClose={close}
          onSubmit={async () => {
            await post(`/devices/${device.id}/jobs`, { body: { kind: 'collect_diagnostics' } })
            done()
          }}
        >
          <p>The router receives the job when it next connects. The result is shown with the job.</p>
        </Dialog>
      ) : null}
      {open === 'transfer' ? <TransferDevice entity={entity} onClose={close} /> : null}
      {open === 'delete' ? (
        <Dialog
          title={`Delete ${device.name}?`}
          submitLabel="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            await remove(`/devices/${device.id}`, { headers: ifMatch(entity.tag) })
            goTo('devices')
          }}
        >
          <p>The device, its tokens and its telemetry history are deleted. Its open jobs are cancelled.</p>
        </Dialog>
      ) : null}
    </div>
  )
}

/** Moves a device to another organization of the caller. */
function TransferDevice({ entity, onClose }: { entity: Entity<Device>; onClose: () => void }) {
  const device = entity.value
  const others = (organizations.value ?? []).filter(({ id }) => id !== device.organizationId)
  return (
    <Dialog
      title={`Transfer ${device.name}`}
      submitLabel="Transfer"
      danger
      onClose={onClose}
      onSubmit={async (form) => {
        const toOrgId = String(form.get('toOrgId'))
        const reason = String(form.get('reason') ?? '').trim()
        await post(`/devices/${device.id}/transfer`, {
          headers: ifMatch(entity.tag),
          body: { toOrgId, ...(reason ? { reason } : {}) },
        })
        goTo('devices', { org: toOrgId })
      }}
    >
      <p>
        The device loses its groups, profile, tokens and last position, and its open jobs are cancelled. The history
        until now stays with this organization.
      </p>
      <label class="field">
        <span>To organization</span>
        <select class="input" name="toOrgId" required>
          <option value="">Choose an organization</option>
          {others.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Reason (optional)</span>
        <input class="input" name="reason" maxLength={500} />
      </label>
    </Dialog>
  )
}
