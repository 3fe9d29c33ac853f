import { useMemo, useState } from 'preact/hooks'
import { ApiError, call } from '../api/client.ts'
import type { Device, Dwell, Job, MapDevice, Page } from '../api/types.ts'
import { Chart } from '../components/chart.tsx'
import { ago, duration, measured, moment } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { jobLook, kindLabel, QualityLabel, StatusLabel } from '../components/labels.tsx'
import { type Resource, useResource } from '../components/resource.ts'
import { Failure, Loading } from '../components/states.tsx'
import { type HistoryRow, numberOf, readHistory, readLatest, textOf } from '../state/history.ts'
import type { RadioHistory } from '../state/trail.ts'
import { ApplyDialog, ConfirmReboot } from './device-actions.tsx'

type DevicePanelProps = {
  deviceId: string
  onMap: MapDevice | undefined
  radio: Resource<RadioHistory>
  sinceMinutes: number
  atMs: number | null
  onClose: () => void
}

const alignmentSentence: Record<string, string> = {
  exact: 'at a fix',
  interpolated: 'between two fixes',
  dwell: 'while standing here',
  device: 'by the router itself',
  held: 'last fix, held',
  none: 'position unknown',
}

/** Everything about one device: status, signal and what limits it, charts, dwells, health, jobs and what can be done. */
export function DevicePanel({ deviceId, onMap, radio, sinceMinutes, atMs, onClose }: DevicePanelProps) {
  const [dialog, setDialog] = useState<'reboot' | 'apply' | null>(null)
  const device = useResource(`device ${deviceId}`, (signal) => call<Device>(`/devices/${deviceId}`, { signal }), {
    everyMs: 10_000,
  })
  const latest = useResource(`latest ${deviceId}`, (signal) => readLatest(deviceId, signal), { everyMs: 10_000 })
  const name = device.value?.name ?? onMap?.name ?? 'Device'
  return (
    <aside class="device-panel floating" aria-label={`Device ${name}`}>
      <header>
        <div style={{ marginRight: 'auto', minWidth: 0 }}>
          <h2>{name}</h2>
          <p class="label">{device.value ? `${device.value.model} · ${device.value.serial}` : ' '}</p>
          {device.value ? <StatusLabel status={device.value.status} /> : null}
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {device.error && !device.value ? <Failure error={device.error} retry={device.reload} /> : null}
      <SignalNow onMap={onMap} />
      <Charts radio={radio} deviceId={deviceId} sinceMinutes={sinceMinutes} atMs={atMs} />
      <Dwells deviceId={deviceId} sinceMinutes={sinceMinutes} />
      <Health system={latest.value?.system ?? null} connection={latest.value?.connection ?? null} />
      <Jobs deviceId={deviceId} />
      {device.value ? (
        <Actions
          device={device.value}
          onReboot={() => setDialog('reboot')}
          onApply={() => setDialog('apply')}
          reload={device.reload}
        />
      ) : null}
      {dialog === 'reboot' && device.value ? (
        <ConfirmReboot device={device.value} onClose={() => setDialog(null)} />
      ) : null}
      {dialog === 'apply' && device.value ? (
        <ApplyDialog device={device.value} onClose={() => setDialog(null)} />
      ) : null}
    </aside>
  )
}

function SignalNow({ onMap }: { onMap: MapDevice | undefined }) {
  const signal = onMap?.signal
  if (!signal)
    return (
      <section>
        <h2>Signal</h2>
        <p class="label">No signal was reported in this window.</p>
      </section>
    )
  return (
    <section>
      <h2>Signal now</h2>
      <div style={{ display: 'flex', gap: 'var(--space-3)', alignItems: 'center' }}>
        <QualityLabel quality={signal.quality} rat={signal.rat} />
        <span class="label">
          {signal.qualityBasis ? `limited by ${signal.qualityBasis.replace(/(Dbm|Db)$/, '').toUpperCase()}` : ''}
        </span>
      </div>
      <dl class="facts">
        <div>
          <dt>RSRP</dt>
          <dd>{measured(signal.rsrpDbm, 'dBm')}</dd>
        </div>
        <div>
          <dt>SINR</dt>
          <dd>{measured(signal.sinrDb, 'dB')}</dd>
        </div>
        <div>
          <dt>RSRQ</dt>
          <dd>{measured(signal.rsrqDb, 'dB')}</dd>
        </div>
        <div>
          <dt>NR RSRP</dt>
          <dd>{measured(signal.nrRsrpDbm, 'dBm')}</dd>
        </div>
        <div>
          <dt>Network</dt>
          <dd>
            {signal.operatorName ?? signal.plmn ?? '–'} · {signal.rat?.toUpperCase() ?? '–'}
          </dd>
        </div>
        <div>
          <dt>Measured</dt>
          <dd>{ago(signal.ts)}</dd>
        </div>
        <div>
          <dt>Where</dt>
          <dd>
            {alignmentSentence[signal.alignment] ?? signal.alignment}
            {signal.alignErrorM === null ? '' : ` (± ${Math.round(signal.alignErrorM)} m)`}
          </dd>
        </div>
        {onMap.dwell ? (
          <div>
            <dt>Standing for</dt>
            <dd>{duration(onMap.dwell.durationS)}</dd>
          </div>
        ) : null}
      </dl>
    </section>
  )
}

function Charts({
  radio,
  deviceId,
  sinceMinutes,
  atMs,
}: Pick<DevicePanelProps, 'radio' | 'deviceId' | 'sinceMinutes' | 'atMs'>) {
  const connection = useResource(`latency ${deviceId} ${sinceMinutes}`, (signal) =>
    readHistory(deviceId, { kind: 'connection', sinceMinutes }, signal),
  )
  const latency = useMemo(() => latencySeries(connection.value ?? []), [connection.value])
  const value = radio.value
  const signalSeries = useMemo(
    () =>
      value
        ? [
            { label: 'RSRP', unit: 'dBm', color: 'var(--accent)', values: value.rsrpDbm },
            ...(value.nrRsrpDbm.some((one) => one !== null)
              ? [{ label: 'NR RSRP', unit: 'dBm', color: 'var(--warn)', values: value.nrRsrpDbm }]
              : []),
          ]
        : [],
    [value],
  )
  const sinrSeries = useMemo(
    () => (value ? [{ label: 'SINR', unit: 'dB', color: 'var(--ok)', values: value.sinrDb }] : []),
    [value],
  )
  return (
    <section>
      <h2>History</h2>
      {radio.error ? <Failure error={radio.error} retry={radio.reload} /> : null}
      {!value && !radio.error ? <Loading rows={4} label="Reading history" /> : null}
      {value && value.times.length > 0 ? (
        <>
          <Chart title="RSRP" times={value.times} series={signalSeries} marks={value.marks} cursorMs={atMs} />
          <Chart title="SINR" times={value.times} series={sinrSeries} marks={value.marks} cursorMs={atMs} />
          {value.marks.length > 0 ? (
            <p class="label">
              {value.marks.length} changes of cell, operator or radio (ticks); the last: {value.marks.at(-1)?.label}
            </p>
          ) : null}
        </>
      ) : null}
      {value && value.times.length === 0 ? <p class="label">Nothing was reported in this window.</p> : null}
      {latency.times.length > 0 ? (
        <Chart title="Latency" times={latency.times} series={latency.series} height={100} cursorMs={atMs} />
      ) : null}
    </section>
  )
}

function latencySeries(rows: readonly HistoryRow[]) {
  const known = rows.filter((row) => numberOf(row.latencyMs) !== null)
  return {
    times: known.map((row) => Date.parse(row.ts)),
    series: [
      { label: 'Latency', unit: 'ms', color: 'var(--warn)', values: known.map((row) => numberOf(row.latencyMs)) },
    ],
  }
}

function Dwells({ deviceId, sinceMinutes }: { deviceId: string; sinceMinutes: number }) {
  const dwells = useResource(`dwells ${deviceId} ${sinceMinutes}`, (signal) =>
    call<Page<Dwell>>('/fleet/dwells', { signal, query: { deviceId, sinceMinutes, limit: 10 } }),
  )
  if (dwells.error) return null
  const items = dwells.value?.items ?? []
  if (items.length === 0) return null
  return (
    <section>
      <h2>Stays</h2>
      <ul style={{ display: 'grid', gap: 'var(--space-2)' }}>
        {items.map((dwell) => (
          <li key={dwell.id}>
            <strong>{duration(dwell.durationS)}</strong>
            <span class="label">
              {' '}
              from {moment(dwell.arrivedAt)}
              {dwell.departedAt === null ? ', still there' : ''}
              {dwell.noServiceS > 0 ? `, ${duration(dwell.noServiceS)} without service` : ''}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Health({
  system,
  connection,
}: {
  system: Record<string, unknown> | null
  connection: Record<string, unknown> | null
}) {
  if (!system && !connection) return null
  const uptimeS = numberOf(system?.uptimeS)
  return (
    <section>
      <h2>Health</h2>
      <dl class="facts">
        <div>
          <dt>Connection</dt>
          <dd>{textOf(connection?.state) ?? '–'}</dd>
        </div>
        <div>
          <dt>Uptime</dt>
          <dd>{uptimeS === null ? '–' : duration(uptimeS)}</dd>
        </div>
        <div>
          <dt>CPU / memory</dt>
          <dd>
            {measured(numberOf(system?.cpuPct), '%')} / {measured(numberOf(system?.memUsedPct), '%')}
          </dd>
        </div>
        <div>
          <dt>Temperature</dt>
          <dd>{measured(numberOf(system?.temperatureC), '°C')}</dd>
        </div>
        <div>
          <dt>Supply</dt>
          <dd>{measured(numberOf(system?.inputVoltageV), 'V', 1)}</dd>
        </div>
        <div>
          <dt>Firmware</dt>
          <dd>{textOf(system?.firmware) ?? '–'}</dd>
        </div>
      </dl>
      {textOf(system?.fault) ? <div class="notice bad">Fault: {textOf(system?.fault)}</div> : null}
    </section>
  )
}

function Jobs({ deviceId }: { deviceId: string }) {
  const jobs = useResource(
    `jobs ${deviceId}`,
    (signal) => call<Page<Job>>(`/devices/${deviceId}/jobs`, { signal, query: { limit: 5 } }),
    { everyMs: 5_000 },
  )
  const items = jobs.value?.items ?? []
  if (items.length === 0) return null
  return (
    <section>
      <h2>Jobs</h2>
      <ul style={{ display: 'grid', gap: 'var(--space-2)' }}>
        {items.map((job) => (
          <li key={job.id} style={{ display: 'flex', gap: 'var(--space-2)', alignItems: 'center' }}>
            <span class="swatch" style={{ background: jobLook[job.status].color }} />
            <span style={{ marginRight: 'auto' }}>
              {kindLabel[job.kind] ?? job.kind}: {jobLook[job.status].label}
              {job.progress !== null && job.finishedAt === null ? ` (${job.progress} %)` : ''}
            </span>
            <span class="label">{ago(job.createdAt)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

type ActionsProps = { device: Device; onReboot: () => void; onApply: () => void; reload: () => void }

function Actions({ device, onReboot, onApply, reload }: ActionsProps) {
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
      {error ? (
        <div class="notice bad" role="alert">
          {error.message}
        </div>
      ) : null}
    </section>
  )
}

/** Reads what both the panel's charts and the map's trail show, once. */
export const readRadio = (deviceId: string, sinceMinutes: number, signal: AbortSignal): Promise<HistoryRow[]> =>
  readHistory(deviceId, { kind: 'cellular', sinceMinutes }, signal)
