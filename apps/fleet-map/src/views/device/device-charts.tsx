import { useMemo } from 'preact/hooks'
import { Chart, type ChartBand } from '../../components/chart.tsx'
import { dataSize } from '../../components/format.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useDwells, useOutages } from '../../state/device-past.ts'
import {
  bandsOf,
  type DrawnField,
  dayMs,
  hasField,
  linesOf,
  type Means,
  readMeans,
  readUsedDays,
  stepSecondsOf,
  todayMs,
} from '../../state/device-series.ts'
import { place, setParams } from '../../state/url.ts'
import type { UsedDay } from '../../state/used-day.ts'
import css from './device.module.css'

const ranges = { '60': 'Last hour', '360': 'Last 6 hours', '1440': 'Last 24 hours', '10080': 'Last 7 days' }
const defaultRange = '1440'
const days = 7
const mostRefreshMs = 600_000
const noModem = [null]
const drawn = {
  signal: { title: 'Signal (RSRP)', field: { field: 'rsrpDbm', label: 'RSRP', unit: 'dBm' } },
  latency: { title: 'Latency', field: { field: 'latencyMs', label: 'Latency', unit: 'ms' } },
  temperature: { title: 'Temperature', field: { field: 'temperatureC', label: 'Temperature', unit: '°C' } },
  voltage: {
    title: 'Supply voltage',
    field: { field: 'inputVoltageV', label: 'Supply voltage', unit: 'V', digits: 1 },
  },
} satisfies Record<string, { title: string; field: DrawnField }>
const todayRefreshMs = 60_000

type DeviceChartsProps = {
  deviceId: string
  /** The names of the modems; null for one without a name. */
  modems: readonly (string | null)[]
  /** Whether the caller can read dwells. */
  mayFleet: boolean
}

/** Signal and latency by modem, temperature and supply voltage over a chosen range, and the data use of the last days. */
export function DeviceCharts({ deviceId, modems, mayFleet }: DeviceChartsProps) {
  const { range = defaultRange } = place.value.params
  const minutes = Number(Object.hasOwn(ranges, range) ? range : defaultRange)
  // A chart changes once in each of its steps.
  const everyMs = Math.min(mostRefreshMs, stepSecondsOf(minutes) * 1_000)
  const useMeans = (kind: 'cellular' | 'connection' | 'system', of: readonly (string | null)[]) =>
    useResource(
      JSON.stringify(['means', kind, deviceId, of, minutes]),
      (signal) => readMeans(deviceId, { kind, modems: of, minutes }, signal),
      { everyMs },
    )
  const [cellular, connection, system] = [
    useMeans('cellular', modems),
    useMeans('connection', modems),
    useMeans('system', noModem),
  ]
  const span = { sinceMinutes: minutes, range: null }
  const dwells = useDwells(deviceId, span, mayFleet)
  const outages = useOutages(deviceId, span, { modem: null, mayRead: true })
  const bands = useMemo(
    () => bandsOf(dwells.value?.items ?? [], outages.value?.ofDevice ?? []),
    [dwells.value, outages.value],
  )
  const used = useUsedDays(deviceId)
  const shown = [
    { ...drawn.signal, means: cellular },
    { ...drawn.latency, means: connection },
    { ...drawn.temperature, means: system },
    { ...drawn.voltage, means: system },
  ]
  const isEmpty = shown.every(({ means, field }) => means.value && !hasField(means.value, field.field))
  return (
    <section class="card panel" aria-label="History">
      <div class="toolbar">
        <h2 class="grow">History</h2>
        <select
          class="input"
          aria-label="Range of the charts"
          value={String(minutes)}
          onChange={(event) => setParams({ range: event.currentTarget.value }, { replace: true })}
        >
          {Object.entries(ranges).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </div>
      {shown.map((chart) => (
        <DrawnLines key={chart.title} {...chart} minutes={minutes} bands={bands} />
      ))}
      {isEmpty ? <p class="label">No reports in this time range.</p> : null}
      {bands.length > 0 && !isEmpty ? (
        <p class="label">
          Grey: the device stood still. Red: {modems.length > 1 ? 'no modem had service' : 'without service'}.
        </p>
      ) : null}
      {used?.some(({ rxBytes, txBytes }) => rxBytes !== null || txBytes !== null) ? (
        <Table caption="Data use by day" columns={dayColumns(used)} rows={used} keyOf={({ day }) => day} />
      ) : null}
    </section>
  )
}

/** The data use of the last days, the newest first. Only that of today changes; undefined until it is known. */
function useUsedDays(deviceId: string): UsedDay[] | undefined {
  const lastMs = todayMs()
  const today = useResource(
    `used ${deviceId} ${lastMs}`,
    (signal) => readUsedDays(deviceId, { lastMs, days: 1 }, signal),
    { everyMs: todayRefreshMs },
  )
  const before = useResource(`used before ${deviceId} ${lastMs}`, (signal) =>
    readUsedDays(deviceId, { lastMs: lastMs - dayMs, days: days - 1 }, signal),
  )
  return today.value && before.value && [...today.value, ...before.value]
}

type DrawnLinesProps = {
  title: string
  field: DrawnField
  means: Resource<Means>
  minutes: number
  bands: ChartBand[]
}

function DrawnLines({ title, field, means: { value, error, reload }, minutes, bands }: DrawnLinesProps) {
  const lines = useMemo(() => (value ? linesOf(value, minutes, field) : undefined), [value, minutes, field])
  if (error && !value) return <Failure error={error} retry={reload} />
  if (!lines) return <Loading rows={3} label={`Loading: ${title}`} />
  if (lines.times.length === 0) return null
  return <Chart title={title} times={lines.times} series={lines.series} bands={bands} />
}

const bytesOf = ({ rxBytes, txBytes }: UsedDay): number => (rxBytes ?? 0) + (txBytes ?? 0)

const dayColumns = (days: readonly UsedDay[]): Column<UsedDay>[] => {
  const most = Math.max(1, ...days.map(bytesOf))
  const share = (bytes: number | null) => `${((bytes ?? 0) / most) * 100}%`
  return [
    { title: 'Data use by day (UTC)', cell: ({ day }) => day },
    {
      title: 'Chart',
      heading: <span class="visually-hidden">Chart</span>,
      cell: ({ rxBytes, txBytes }) => (
        <div class={`bar ${css.use}`} aria-hidden="true">
          <span style={{ width: share(rxBytes), background: 'var(--accent)' }} />
          <span style={{ width: share(txBytes), background: 'var(--warn)' }} />
        </div>
      ),
      optional: true,
    },
    { title: 'Received', kind: 'number', cell: ({ rxBytes }) => dataSize(rxBytes) },
    { title: 'Sent', kind: 'number', cell: ({ txBytes }) => dataSize(txBytes) },
  ]
}
