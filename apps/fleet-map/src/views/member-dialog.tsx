import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Device, Page } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { useResource } from '../components/resource.ts'

type MemberDialogProps = { org: string; groupId: string; onClose: () => void; onAdded: () => void }

/** Searches for devices and adds the selected ones to the group. */
export function MemberDialog({ org, groupId, onClose, onAdded }: MemberDialogProps) {
  const [q, setQ] = useState('')
  const [chosen, setChosen] = useState<ReadonlyMap<string, string>>(new Map())
  const found = useResource(`members ${org} ${q}`, async (signal) =>
    q.length < 2 ? [] : (await call<Page<Device>>('/devices', { signal, query: { orgId: org, q, limit: 20 } })).items,
  )
  const toggle = (device: Device) => {
    const next = new Map(chosen)
    if (!next.delete(device.id)) next.set(device.id, device.name)
    setChosen(next)
  }
  return (
    <Dialog
      title="Add devices to the group"
      submitLabel={`Add ${chosen.size}`}
      onClose={onClose}
      onSubmit={async () => {
        await call(`/orgs/${org}/groups/${groupId}/members`, {
          method: 'POST',
          body: { deviceIds: [...chosen.keys()] },
        })
        onAdded()
      }}
    >
      <label class="field">
        <span>Name, serial or model (at least two characters)</span>
        <input class="input" type="search" value={q} onInput={(event) => setQ(event.currentTarget.value.trim())} />
      </label>
      <ul style={{ display: 'grid', gap: 'var(--space-1)', maxHeight: '240px', overflowY: 'auto' }}>
        {(found.value ?? []).map((device) => (
          <li key={device.id}>
            <label style={{ display: 'flex', gap: 'var(--space-2)' }}>
              <input type="checkbox" checked={chosen.has(device.id)} onChange={() => toggle(device)} />
              {device.name} <code>{device.serial}</code>
            </label>
          </li>
        ))}
      </ul>
      {chosen.size > 0 ? <p class="label">Selected: {[...chosen.values()].join(', ')}</p> : null}
    </Dialog>
  )
}
