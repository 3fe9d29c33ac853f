import { useMemo } from 'preact/hooks'
import type { FleetDevice } from '../../api/schemas.ts'
import { Chart } from '../../components/chart.tsx'
import { CompleteFrom } from '../../components/complete-from.tsx'
import { ago, dayAndTime, duration, measured } from '../../components/format.ts'
import { QualityLabel } from '../../components/labels.tsx'
import { type Resource, useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import type { DeviceMoment, ShownSignal } from '../../state/device-moment.ts'
import { readHistory, type TimeRange } from '../../state/history.ts'
import { completeFromMs, type HistoryRow, numberOf, silenceMs } from '../../state/history-row.ts'
import { type Modem, namedModems } from '../../state/modems.ts'
import { holdsSomewhere } from '../../state/session.ts'
import type { RadioHistory } from '../../state/trail.ts'
import { Fact } from './device-facts.tsx'
import { Whereabouts } from './whereabouts.tsx'

const alignmentLabel: Record<string, string> = {
  exact: 'GNSS fix',
  interpolated: 'Between two fixes',
  dwell: 'Dwell position',
  device: 'Reported by the router',
  held: 'Last known fix',
  none: 'Unknown',
}

/** Describes where a measurement was taken. A measurement after the last fix gets its position from the next fix. */
function placeOf({ alignment, ts }: ShownSignal, fix: FleetDevice['location']): string {
  if (alignment === 'none' && fix && ts > fix.ts) return 'Waiting for GPS'
  return alignmentLabel[alignment ?? 'none'] ?? alignment ?? ''
}

/** Formats how long before the time slider something was, as "12 s earlier". */
const earlier = (ts: string, atMs: number): string =>
  ago(ts, atMs).replace(/^now$/, '0 s ago').replace(/ago$/, 'earlier')

type SignalNowProps = {
  onMap: FleetDevice | undefined
  modem?: Modem | undefined
  /** Whether the service has not answered yet. */
  isLoading: boolean
  /** Whether to show where the device is, which the page of a device has in its facts. */
  withFix?: boolean
  /** The moment of the time slider, whose values are shown instead of the newest. */
  past?: DeviceMoment | undefined
}

/**
 * Shows the newest measurement of a modem, by default of the active one, or that of a moment in the past: what limits it, and the
 * accuracy of its position.
 */
export function SignalNow({ onMap, modem, isLoading, withFix = true, past }: SignalNowProps) {
  const signal: ShownSignal | null | undefined = past ? past.signal : (modem ?? onMap?.signal)
  const fix = past ? past.fix && { ...past.fix, ts: new Date(past.fix.ts).toISOString() } : onMap?.location
  const age = (ts: string) => (past ? earlier(ts, past.atMs) : ago(ts))
  const isOld = signal ? Date.now() - Date.parse(signal.ts) > silenceMs : false
  if (!signal)
    return (
      <section>
        <h2>Signal</h2>
        {isLoading ? (
          <Loading rows={4} label="Loading the signal" />
        ) : (
          <p class="label">No signal reported in this time range.</p>
        )}
      </section>
    )
  return (
    <section>
      <h2>
        {past ? `Signal at ${dayAndTime(past.atMs)}` : isOld ? `Last signal, ${ago(signal.ts)}` : 'Current signal'}
      </h2>
      <div style={{ display: 'flex', gap: 'var(--space-3)', alignItems: 'center' }}>
        <QualityLabel quality={signal.quality} rat={signal.rat} />
        <span class="label">
          {signal.qualityBasis && signal.rat !== 'none'
            ? `Limited by ${signal.qualityBasis.replace(/(Dbm|Db)$/, '').toUpperCase()}`
            : ''}
        </span>
      </div>
      <dl class="facts">
        <Fact name="RSRP">{measured(signal.rsrpDbm, 'dBm')}</Fact>
        <Fact name="SINR">{measured(signal.sinrDb, 'dB')}</Fact>
        <Fact name="RSRQ">{measured(signal.rsrqDb, 'dB')}</Fact>
        <Fact name="NR RSRP">{measured(signal.nrRsrpDbm, 'dBm')}</Fact>
        <Fact name="Network">
          {[signal.operatorName ?? signal.plmn, signal.rat === 'none' ? null : signal.rat?.toUpperCase()]
            .filter(Boolean)
            .join(' · ') || '–'}
        </Fact>
        <Fact name="Measured">
          {age(signal.ts)}
          {signal.completedFrom ? <span class="hint"> some values {ago(signal.completedFrom)}</span> : null}
        </Fact>
        {modem === undefined && !past && namedModems(onMap).length > 0 ? (
          <Fact name="Active modem">{onMap?.signal?.modem}</Fact>
        ) : null}
        {withFix && fix ? (
          <Fact name="Position">
            <Whereabouts location={fix} /> <span class="hint">{age(fix.ts)}</span>
          </Fact>
        ) : null}
        <Fact name="Position from">
          {placeOf(signal, onMap?.location ?? null)}
          {signal.alignErrorM === null ? '' : ` (±\u00a0${Math.round(signal.alignErrorM)}\u00a0m)`}
        </Fact>
        {onMap?.dwell && !past ? <Fact name="Dwelling for">{duration(onMap.dwell.durationS)}</Fact> : null}
      </dl>
    </section>
  )
}

type ChartsProps = {
  radio: Resource<RadioHistory>
  deviceId: string
  /** The modem of the latency; null for a device that has one. */
  modem?: string | null
  sinceMinutes: number
  range?: TimeRange | null
  atMs: number | null
}

/** Charts signal and latency over time. */
export function Charts({ radio, deviceId, modem = null, sinceMinutes, range = null, atMs }: ChartsProps) {
  const mayRead = holdsSomewhere('telemetry:read')
  const connection = useResource(
    `latency ${deviceId} ${sinceMinutes} ${range?.fromMs} ${range?.toMs} ${mayRead}`,
    async (signal) =>
      mayRead ? readHistory(deviceId, { kind: 'connection', sinceMinutes, range }, signal) : undefined,
    { everyMs: 30_000 },
  )
  const latency = useMemo(
    () => latencySeries((connection.value ?? []).filter((row) => modem === null || row.modem === modem)),
    [connection.value, modem],
  )
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
      {!value && !radio.error ? <Loading rows={4} label="Loading history" /> : null}
      {value && value.times.length > 0 ? (
        <>
          <Chart title="RSRP" times={value.times} series={signalSeries} marks={value.marks} cursorMs={atMs} />
          <Chart title="SINR" times={value.times} series={sinrSeries} marks={value.marks} cursorMs={atMs} />
          {value.marks.length > 0 ? (
            <p class="label">
              Ticks mark {value.marks.length} changes of cell, operator or radio technology. Last change:{' '}
              {value.marks.at(-1)?.label}
            </p>
          ) : null}
        </>
      ) : null}
      {value && value.times.length === 0 ? <p class="label">No reports in this time range.</p> : null}
      {latency.times.length > 0 ? (
        <>
          <Chart title="Latency" times={latency.times} series={latency.series} height={100} cursorMs={atMs} />
          <CompleteFrom ms={completeFromMs(connection.value ?? [])} />
        </>
      ) : null}
    </section>
  )
}

function latencySeries(rows: readonly HistoryRow[]) {
  const times: number[] = []
  const values: (number | null)[] = []
  for (const row of rows) {
    const ts = Date.parse(row.ts)
    const before = times.at(-1)
    if (before !== undefined && ts - before > silenceMs) {
      times.push(before + 1)
      values.push(null)
    }
    times.push(ts)
    values.push(numberOf(row.latencyMs))
  }
  return { times, series: [{ label: 'Latency', unit: 'ms', color: 'var(--warn)', values }] }
}
