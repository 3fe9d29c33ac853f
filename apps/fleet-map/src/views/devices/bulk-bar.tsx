import { useState } from 'preact/hooks'
import { count } from '../../components/format.ts'
import { SelectionBar } from '../../components/selection-bar.tsx'
import { holds, organizations, type Scope } from '../../state/session.ts'
import { goTo } from '../../state/url.ts'
import { type BulkSelection, targetParams } from './bulk.ts'
import { BulkChange, type BulkChangeKind, isBulkChange } from './bulk-changes.tsx'
import { BulkApply, BulkDiagnostics, BulkGroup, BulkReboot, BulkTags } from './bulk-dialogs.tsx'
import css from './devices.module.css'

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

type Open = 'tags' | 'reboot' | 'apply' | 'group' | 'diagnostics' | BulkChangeKind | null

/** What can be done with the chosen devices, or with all that match the filter. */
export function BulkBar(props: BulkBarProps) {
  const { selection, matching, shown, onAll, onClear, onExport, onChanged } = props
  const [open, setOpen] = useState<Open>(null)
  const { size, isAll, organizationId } = selection
  if (size === 0) return null
  const close = () => setOpen(null)
  const dialog = organizationId === undefined ? undefined : { selection, organizationId, onClose: close }
  const tools = [
    ['tags', 'Change tags'],
    ['reboot', 'Reboot'],
    ['apply', 'Apply profile'],
  ] as const
  return (
    <SelectionBar noun="devices" size={size} isAll={isAll}>
      {!isAll && size === shown && matching !== undefined && matching > shown ? (
        <button type="button" class="button small" onClick={onAll}>
          Select all {count(matching)} matching devices
        </button>
      ) : null}
      <span class="grow" />
      {tools.map(([what, label]) => (
        <button key={what} type="button" class="button small" disabled={!dialog} onClick={() => setOpen(what)}>
          {label}
        </button>
      ))}
      <button
        type="button"
        class="button small"
        disabled={!dialog}
        onClick={() =>
          goTo('jobs', { org: organizationId ?? '', new: 'firmware_update', ...targetParams(selection) }, [])
        }
      >
        Update firmware
      </button>
      {organizationId === undefined ? null : <MoreActions org={organizationId} onChoose={setOpen} />}
      <button type="button" class="button small" onClick={onExport}>
        Export selected
      </button>
      <button type="button" class="button quiet small" onClick={onClear}>
        Clear selection
      </button>
      {dialog ? null : <p class="label">Choose devices of one organization to change them together.</p>}
      {open === 'tags' && dialog ? <BulkTags {...dialog} onChanged={onChanged} /> : null}
      {open === 'reboot' && dialog ? <BulkReboot {...dialog} /> : null}
      {open === 'apply' && dialog ? <BulkApply {...dialog} /> : null}
      {open === 'diagnostics' && dialog ? <BulkDiagnostics {...dialog} /> : null}
      {open === 'group' && dialog ? <BulkGroup {...dialog} /> : null}
      {isBulkChange(open) && dialog ? <BulkChange kind={open} {...dialog} onChanged={onChanged} /> : null}
    </SelectionBar>
  )
}

const more: readonly [what: Exclude<Open, null>, label: string, scope: Scope][] = [
  ['group', 'Add to a group', 'group:write'],
  ['diagnostics', 'Collect diagnostics', 'job:create'],
  ['disable', 'Disable', 'device:update'],
  ['enable', 'Enable', 'device:update'],
  ['transfer', 'Transfer', 'device:transfer'],
  ['delete', 'Delete', 'device:delete'],
]

/** The actions that are needed less often, of those that the caller may do. */
function MoreActions({ org, onChoose }: { org: string; onChoose: (what: Open) => void }) {
  const hasOthers = (organizations.value?.length ?? 0) > 1
  const offered = more.filter(([what, , scope]) => holds(org, scope) && (what !== 'transfer' || hasOthers))
  if (offered.length === 0) return null
  return (
    <details class={css.menu}>
      <summary class="button small">More actions</summary>
      <div class={`card ${css.actions}`}>
        {offered.map(([what, label]) => (
          <button
            key={what}
            type="button"
            class={`button quiet small ${what === 'delete' ? 'danger' : ''}`}
            onClick={(event) => {
              event.currentTarget.closest('details')?.removeAttribute('open')
              onChoose(what)
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </details>
  )
}
