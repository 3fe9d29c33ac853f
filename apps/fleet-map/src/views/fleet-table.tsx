import type { MapDevice } from '../api/types.ts'
import { ago, count, measured } from '../components/format.ts'
import { QualityLabel, StatusLabel } from '../components/labels.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table.tsx'
import { linkTo, place, setParams } from '../state/url.ts'

const mostRows = 500

// Links to the map keep the filters.
const onMap = (deviceId: string) =>
  linkTo('map', { device: deviceId }, Object.keys(place.value.params).filter(isFilter))
const isFilter = (name: string) => !['as', 'lon', 'lat', 'z', 'cell', 't', 'panel'].includes(name)

const columns: Column<MapDevice>[] = [
  { title: 'Device', cell: ({ deviceId, name }) => <a href={onMap(deviceId)}>{name}</a> },
  { title: 'Status', cell: ({ status }) => <StatusLabel status={status} />, optional: true },
  {
    title: 'Signal',
    cell: ({ signal }) => <QualityLabel quality={signal?.quality ?? null} rat={signal?.rat ?? null} />,
  },
  { title: 'RSRP', cell: ({ signal }) => measured(signal?.rsrpDbm, 'dBm'), kind: 'number' },
  {
    title: 'Position',
    cell: ({ location }) => (location ? `${location.lat.toFixed(4)}, ${location.lon.toFixed(4)}` : 'Unknown'),
    optional: true,
  },
  { title: 'Last report', cell: ({ signal, location }) => ago(signal?.ts ?? location?.ts ?? null), optional: true },
]

/** The fleet as a table, for keyboard users, screen readers and browsers without a map. */
export function FleetTable({ devices, phase }: { devices: readonly MapDevice[]; phase: string }) {
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Fleet</h1>
          <button type="button" class="button" onClick={() => setParams({ as: null })}>
            Show map
          </button>
        </div>
        {phase === 'loading' && devices.length === 0 ? <Loading /> : null}
        {phase !== 'loading' && devices.length === 0 ? <Empty title="No matching devices" /> : null}
        {devices.length > 0 ? (
          <Table
            caption="Devices with position and signal"
            columns={columns}
            rows={devices.slice(0, mostRows)}
            keyOf={({ deviceId }) => deviceId}
          />
        ) : null}
        {devices.length > mostRows ? (
          <p class="label">
            Showing the first {mostRows} of {count(devices.length)} devices. Use the filters to narrow the list.
          </p>
        ) : null}
      </div>
    </div>
  )
}
