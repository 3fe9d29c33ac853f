import { useMemo } from 'preact/hooks'
import { Chart } from '../../components/chart.tsx'
import { dataSize } from '../../components/format.ts'
import { type Resource, useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type Lines, readBands, readLines, readUsedDays, type UsedDay } from '../../state/device-series.ts'
import { place, setParams } from '../../state/url.ts'

const ranges = { '60': 'Last hour', '360': 'Last 6 hours', '1440': 'Last 24 hours', '10080': 'Last 7 days' }
const defaultRange = '1440'
const days = 7
const refreshMs = 60_000
/** Each day is a request of its own. */
const daysRefreshMs = 600_000

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
  const minutes = Number(range in ranges ? range : defaultRange)
  const key = (what: string) => JSON.stringify([what, deviceId, modems, minutes])
  const every = { everyMs: refreshMs }
  const system = { kind: 'system' as const, modems: [null], minutes }
  const rsrp = useResource(
    key('rsrp'),
    (signal) =>
      readLines(deviceId, { kind: 'cellular', modems, minutes }, { field: 'rsrpDbm', unit: 'dBm' }, 'RSRP', signal),
    every,
  )
  const latency = useResource(
    key('latency'),
    (signal) =>
      readLines(
        deviceId,
        { kind: 'connection', modems, minutes },
        { field: 'latencyMs', unit: 'ms' },
        'Latency',
        signal,
      ),
    every,
  )
  const temperature = useResource(
    key('temperature'),
    (signal) => readLines(deviceId, system, { field: 'temperatureC', unit: '°C' }, 'Temperature', signal),
    every,
  )
  const voltage = useResource(
    key('voltage'),
    (signal) => readLines(deviceId, system, { field: 'inputVoltageV', unit: 'V', digits: 1 }, 'Supply voltage', signal),
    every,
  )
  const bands = useResource(
    key(`bands ${mayFleet}`),
    async (signal) => (mayFleet ? readBands(deviceId, minutes, signal) : []),
    every,
  )
  const used = useResource(`used days ${deviceId}`, (signal) => readUsedDays(deviceId, days, signal), {
    everyMs: daysRefreshMs,
  })
  const shown: [title: string, lines: Resource<Lines>][] = [
    ['Signal (RSRP)', rsrp],
    ['Latency', latency],
    ['Temperature', temperature],
    ['Supply voltage', voltage],
  ]
  const isEmpty = shown.every(([, { value }]) => value?.times.length === 0)
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
      {shown.map(([title, lines]) => (
        <DrawnLines key={title} title={title} lines={lines} bands={bands.value} />
      ))}
      {isEmpty ? <p class="label">No reports in this time range.</p> : null}
      {bands.value && bands.value.length > 0 && !isEmpty ? (
        <p class="label">Grey: the device stood still. Red: without service.</p>
      ) : null}
      {used.value?.some(({ rxBytes, txBytes }) => rxBytes !== null || txBytes !== null) ? (
        <Table caption="Data use by day" columns={dayColumns} rows={used.value} keyOf={({ day }) => day} />
      ) : null}
    </section>
  )
}

type Bands = Parameters<typeof Chart>[0]['bands']

function DrawnLines({ title, lines, bands }: { title: string; lines: Resource<Lines>; bands: Bands }) {
  const { value } = lines
  const within = useMemo(() => bands ?? [], [bands])
  if (lines.error && !value) return <Failure error={lines.error} retry={lines.reload} />
  if (!value) return <Loading rows={3} label={`Loading: ${title}`} />
  if (value.times.length === 0) return null
  return <Chart title={title} times={value.times} series={value.series} bands={within} />
}

const dayColumns: Column<UsedDay>[] = [
  { title: 'Data use by day (UTC)', cell: ({ day }) => day },
  { title: 'Received', kind: 'number', cell: ({ rxBytes }) => dataSize(rxBytes) },
  { title: 'Sent', kind: 'number', cell: ({ txBytes }) => dataSize(txBytes) },
]
