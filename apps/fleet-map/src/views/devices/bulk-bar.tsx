import { useState } from 'preact/hooks'
import { count } from '../../components/format.ts'
import { SelectionBar } from '../../components/selection-bar.tsx'
import { goTo } from '../../state/url.ts'
import { type BulkSelection, targetParams } from './bulk.ts'
import { BulkApply, BulkReboot, BulkTags } from './bulk-dialogs.tsx'

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

/** What can be done with the chosen devices, or with all that match the filter. */
export function BulkBar(props: BulkBarProps) {
  const { selection, matching, shown, onAll, onClear, onExport, onChanged } = props
  const [open, setOpen] = useState<'tags' | 'reboot' | 'apply' | null>(null)
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
    </SelectionBar>
  )
}
