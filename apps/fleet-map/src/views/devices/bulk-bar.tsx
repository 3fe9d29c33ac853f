import { useState } from 'preact/hooks'
import { count } from '../../components/format.ts'
import { ActionMenu } from '../../components/menu.tsx'
import { SelectionBar } from '../../components/selection-bar.tsx'
import { holds, holdsSomewhere, organizations, type Scope } from '../../state/session.ts'
import { goTo } from '../../state/url.ts'
import { type BulkSelection, targetParams } from './bulk.ts'
import { BulkChange, type BulkChangeKind } from './bulk-changes.tsx'
import { BulkApply, BulkDiagnostics, BulkGroup, BulkReboot, BulkTags } from './bulk-dialogs.tsx'

type BulkBarProps = {
  selection: BulkSelection
  /** The number of devices that match the filter; undefined while unknown. */
  matching: number | undefined
  shown: number
  onAll: () => void
  onClear: () => void
  onExport: () => void
  onChanged: () => void
}

type BulkAction = 'tags' | 'reboot' | 'apply' | 'group' | 'diagnostics' | BulkChangeKind

/** An action whose dialog is open, with the devices that were chosen for it. */
type Opened = { action: BulkAction; selection: BulkSelection; organizationId: string }

/** What can be done with the chosen devices, or with all that match the filter. */
export function BulkBar(props: BulkBarProps) {
  const { selection, onChanged } = props
  const [opened, setOpened] = useState<Opened | null>(null)
  const { size, organizationId } = selection
  const open = (action: BulkAction) => organizationId && setOpened({ action, selection, organizationId })
  // The dialog also shows what was done with devices that have left the list since then.
  return (
    <>
      {size === 0 ? null : <ChosenDevices {...props} onOpen={open} />}
      {opened ? <BulkDialog opened={opened} onClose={() => setOpened(null)} onChanged={onChanged} /> : null}
    </>
  )
}

const tools: readonly [what: BulkAction, label: string, scope: Scope][] = [
  ['tags', 'Change tags', 'device:update'],
  ['reboot', 'Reboot', 'job:create'],
  ['apply', 'Apply profile', 'config:apply'],
]

/** Whether the caller may do it with the chosen devices. Those of several organizations cannot be changed together anyway. */
const may = (org: string | undefined, scope: Scope): boolean => (org ? holds(org, scope) : holdsSomewhere(scope))

const toolsOf = (org: string | undefined) => tools.filter(([, , scope]) => may(org, scope))

type ChosenDevicesProps = Omit<BulkBarProps, 'onChanged'> & { onOpen: (action: BulkAction) => void }

function ChosenDevices({ selection, matching, shown, onAll, onClear, onExport, onOpen }: ChosenDevicesProps) {
  const { size, isAll, organizationId } = selection
  const isOneOrganization = organizationId !== undefined
  return (
    <SelectionBar noun="devices" size={size} isAll={isAll}>
      {!isAll && size === shown && matching !== undefined && matching > shown ? (
        <button type="button" class="button small" onClick={onAll}>
          Select all {count(matching)} matching devices
        </button>
      ) : null}
      <span class="grow" />
      {toolsOf(organizationId).map(([action, label]) => (
        <button
          key={action}
          type="button"
          class="button small"
          disabled={!isOneOrganization}
          onClick={() => onOpen(action)}
        >
          {label}
        </button>
      ))}
      {may(organizationId, 'job:create') ? (
        <button
          type="button"
          class="button small"
          disabled={!isOneOrganization}
          onClick={() =>
            goTo('jobs', { org: organizationId ?? '', new: 'firmware_update', ...targetParams(selection) }, [])
          }
        >
          Update firmware
        </button>
      ) : null}
      {isOneOrganization ? <MoreActions org={organizationId} onChoose={onOpen} /> : null}
      <button type="button" class="button small" onClick={onExport}>
        Export selected
      </button>
      <button type="button" class="button quiet small" onClick={onClear}>
        Clear selection
      </button>
      {isOneOrganization ? null : <p class="label">Choose devices of one organization to change them together.</p>}
    </SelectionBar>
  )
}

type BulkDialogProps = { opened: Opened; onClose: () => void; onChanged: () => void }

function BulkDialog({ opened: { action, selection, organizationId }, onClose, onChanged }: BulkDialogProps) {
  const dialog = { selection, organizationId, onClose }
  if (action === 'tags') return <BulkTags {...dialog} onChanged={onChanged} />
  if (action === 'reboot') return <BulkReboot {...dialog} />
  if (action === 'apply') return <BulkApply {...dialog} />
  if (action === 'diagnostics') return <BulkDiagnostics {...dialog} />
  if (action === 'group') return <BulkGroup {...dialog} />
  return <BulkChange kind={action} {...dialog} onChanged={onChanged} />
}

const more: readonly [what: BulkAction, label: string, scope: Scope][] = [
  ['group', 'Add to a group', 'group:write'],
  ['diagnostics', 'Collect diagnostics', 'job:create'],
  ['disable', 'Disable', 'device:update'],
  ['enable', 'Enable', 'device:update'],
  ['transfer', 'Transfer', 'device:transfer'],
  ['delete', 'Delete', 'device:delete'],
]

/** The actions that are needed less often, of those that the caller may do. */
function MoreActions({ org, onChoose }: { org: string; onChoose: (what: BulkAction) => void }) {
  const hasOthers = (organizations.value?.length ?? 0) > 1
  const offered = more.filter(([what, , scope]) => holds(org, scope) && (what !== 'transfer' || hasOthers))
  if (offered.length === 0) return null
  return (
    <ActionMenu
      small
      actions={offered.map(([what, label]) => ({ label, onChoose: () => onChoose(what), danger: what === 'delete' }))}
    />
  )
}
