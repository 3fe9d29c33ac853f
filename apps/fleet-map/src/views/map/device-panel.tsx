import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { FleetDevice } from '../../api/schemas.ts'
import { Icon } from '../../components/icon.tsx'
import { StatusLabel } from '../../components/labels.tsx'
import { usePanelFocus } from '../../components/panel-focus.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import { Failure } from '../../components/states.tsx'
import { momentIn } from '../../state/device-moment.ts'
import { readLatest, type TimeRange } from '../../state/history.ts'
import { namedModems, shownModem } from '../../state/modems.ts'
import { holdsSomewhere } from '../../state/session.ts'
import type { RadioHistory } from '../../state/trail.ts'
import { Actions, ApplyDialog, ConfirmReboot } from '../device/device-actions.tsx'
import { DeviceJobs, Dwells, Health } from '../device/device-facts.tsx'
import { Outages } from '../device/device-outages.tsx'
import { Charts, SignalNow } from '../device/device-signal.tsx'
import { Trips } from '../device/device-trips.tsx'
import { ModemSwitch } from './modem-switch.tsx'

type DevicePanelProps = {
  deviceId: string
  onMap: FleetDevice | undefined
  /** Whether the service has not answered yet what the map shows of the device. */
  isLoading: boolean
  radio: Resource<RadioHistory>
  sinceMinutes: number
  range: TimeRange | null
  atMs: number | null
  chosenModem: string | null
  onClose: () => void
}

/** Shows one device: status, actions, signal, charts, dwells, health and jobs. Of several modems, those of one. */
export function DevicePanel(props: DevicePanelProps) {
  const { deviceId, onMap, isLoading, radio, sinceMinutes, range, atMs, chosenModem, onClose } = props
  const [dialog, setDialog] = useState<'reboot' | 'apply' | null>(null)
  const device = useResource(`device ${deviceId}`, (signal) => get(`/devices/${deviceId}`, { signal }), {
    everyMs: 10_000,
  })
  const mayTelemetry = holdsSomewhere('telemetry:read')
  const latest = useResource(
    `latest ${deviceId} ${mayTelemetry}`,
    async (signal) => (mayTelemetry ? readLatest(deviceId, signal) : undefined),
    { everyMs: 10_000 },
  )
  const heading = usePanelFocus()
  const isMissing = device.error?.status === 404 && !device.value
  const modems = namedModems(onMap)
  const modem = shownModem(onMap, chosenModem)
  const reported = latest.value?.modems ?? []
  const { connection } = (modem ? reported.find((one) => one.modem === modem.modem) : latest.value) ?? {}
  const name = device.value?.name ?? onMap?.name ?? 'Device'
  const past = atMs !== null && radio.value ? momentIn(radio.value, atMs) : undefined
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
          {modem ? <ModemSwitch modems={modems} reported={reported} shown={modem} isPast={past !== undefined} /> : null}
          <SignalNow onMap={onMap} modem={modem} isLoading={isLoading} past={past} />
          <Charts
            radio={radio}
            deviceId={deviceId}
            modem={modem?.modem ?? null}
            sinceMinutes={sinceMinutes}
            range={range}
            atMs={atMs}
          />
          <Outages
            deviceId={deviceId}
            modem={modem?.modem ?? null}
            hasSeveralModems={modem !== undefined}
            sinceMinutes={sinceMinutes}
            range={range}
          />
          <Trips deviceId={deviceId} sinceMinutes={sinceMinutes} range={range} />
          <Dwells deviceId={deviceId} sinceMinutes={sinceMinutes} range={range} />
          {past ? null : <Health system={latest.value?.system ?? null} connection={connection ?? null} />}
          {holdsSomewhere('job:read') ? <DeviceJobs deviceId={deviceId} /> : null}
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
