import { useState } from 'preact/hooks'
import { get } from '../api/client.ts'
import type { Device } from '../api/schemas.ts'
import { useResource } from './resource.ts'

/** Device names by id. */
export type ChosenDevices = ReadonlyMap<string, string>

type DevicePickerProps = { org: string; chosen: ChosenDevices; onChange: (chosen: ChosenDevices) => void }

const mostNamed = 12
const mostFound = 20

/** Searches for devices and selects some of them. */
export function DevicePicker({ org, chosen, onChange }: DevicePickerProps) {
  // The text as it is typed: without its last space, the field would lose it when results arrive.
  const [typed, setTyped] = useState('')
  const q = typed.trim()
  const found = useResource(`members ${org} ${q}`, async (signal) =>
    q.length < 2 ? undefined : get('/devices', { signal, query: { orgId: org, q, limit: mostFound } }),
  )
  const { items = [], nextCursor = null } = found.value ?? {}
  const toggle = (device: Device) => {
    const next = new Map(chosen)
    if (!next.delete(device.id)) next.set(device.id, device.name)
    onChange(next)
  }
  const names = [...chosen.values()]
  return (
    <fieldset
      class="field plain"
      data-member="deviceIds"
      data-fault={chosen.size === 0 ? 'Choose at least one device.' : undefined}
    >
      <label class="field">
        <span>Name, serial or model (at least two characters)</span>
        <input class="input" type="search" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <ul class="picker">
        {items.map((device) => (
          <li key={device.id}>
            <label>
              <input type="checkbox" checked={chosen.has(device.id)} onChange={() => toggle(device)} />
              {device.name} <code>{device.serial}</code>
            </label>
          </li>
        ))}
      </ul>
      {found.value && items.length === 0 ? <p class="label">No device matches “{q}”.</p> : null}
      {nextCursor ? <p class="label">The first {mostFound} devices are shown. Type more to find others.</p> : null}
      {names.length > 0 ? (
        <p class="label">
          Selected: {names.slice(0, mostNamed).join(', ')}
          {names.length > mostNamed ? ` and ${names.length - mostNamed} more` : ''}
        </p>
      ) : null}
    </fieldset>
  )
}
