import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Device, MapDevice } from '../api/types.ts'
import { Icon } from '../components/icon.tsx'
import { StatusLabel } from '../components/labels.tsx'
import { usePanelFocus } from '../components/panel-focus.ts'
import { type Resource, useResource } from '../components/resource.ts'
import { Failure } from '../components/states.tsx'
import { readLatest, type TimeRange } from '../state/history.ts'
import type { RadioHistory } from '../state/trail.ts'
import { Actions, ApplyDialog, ConfirmReboot } from './device-actions.tsx'
import { DeviceJobs, Dwells, Health } from './device-facts.tsx'
import { Outages } from './device-outages.tsx'
import { Charts, SignalNow } from './device-signal.tsx'

type DevicePanelProps = {
  deviceId: string
  onMap: MapDevice | undefined
  radio: Resource<RadioHistory>
  sinceMinutes: number
  range: TimeRange | null
  atMs: number | null
  onClose: () => void
}

/** Shows one device: status, actions, signal, charts, dwells, health and jobs. */
export function DevicePanel({ deviceId, onMap, radio, sinceMinutes, range, atMs, onClose }: DevicePanelProps) {
  const [dialog, setDialog] = useState<'reboot' | 'apply' | null>(null)
  const device = useResource(`device ${deviceId}`, (signal) => call<Device>(`/devices/${deviceId}`, { signal }), {
    everyMs: 10_000,
  })
  const latest = useResource(`latest ${deviceId}`, (signal) => readLatest(deviceId, signal), { everyMs: 10_000 })
  const heading = usePanelFocus()
  const isMissing = device.error?.status === 404 && !device.value
  const name = device.value?.name ?? onMap?.name ?? 'Device'
  return (
    <aside class="device-panel floating" aria-label={`Device ${name}`}>
      <header>
        <div>
          <h2 ref={heading} tabIndex={-1}>
            {name}
          </h2>
          <p class="label">{device.value ? `${device.value.model} · ${device.value.serial}` : ' '}</p>
          {device.value ? <StatusLabel status={device.value.status} /> : null}
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {device.error && !device.value ? <Failure error={device.error} retry={device.reload} /> : null}
      {device.value ? (
        <Actions
          device={device.value}
          onReboot={() => setDialog('reboot')}
          onApply={() => setDialog('apply')}
          reload={device.reload}
        />
      ) : null}
      {isMissing ? null : (
        <>
          <SignalNow onMap={onMap} />
          <Charts radio={radio} deviceId={deviceId} sinceMinutes={sinceMinutes} range={range} atMs={atMs} />
          <Outages outages={radio.value?.outages ?? []} />
          <Dwells deviceId={deviceId} sinceMinutes={sinceMinutes} range={range} />
          <Health system={latest.value?.system ?? null} connection={latest.value?.connection ?? null} />
          <DeviceJobs deviceId={deviceId} />
        </>
      )}
      {dialog === 'reboot' && device.value ? (
        <ConfirmReboot device={device.value} onClose={() => setDialog(null)} />
      ) : null}
      {dialog === 'apply' && device.value ? (
        <ApplyDialog device={device.value} onClose={() => setDialog(null)} />
      ) : null}
    </aside>
  )
}
