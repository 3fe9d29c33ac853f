import type { MapDevice } from '../api/types.ts'
import { ago, measured } from '../components/format.ts'
import { QualityLabel, StatusLabel } from '../components/labels.tsx'
import { Empty, Loading } from '../components/states.tsx'
import { setParams } from '../state/url.ts'

type FleetTableProps = { devices: readonly MapDevice[]; phase: string; onSelect: (deviceId: string) => void }

const mostRows = 500

/** The map as a table: for keyboards, screen readers and browsers that draw no map. */
export function FleetTable({ devices, phase, onSelect }: FleetTableProps) {
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Fleet</h1>
          <button type="button" class="button" onClick={() => setParams({ as: null })}>
            Show the map
          </button>
        </div>
        {phase === 'loading' && devices.length === 0 ? <Loading /> : null}
        {phase !== 'loading' && devices.length === 0 ? <Empty title="No device matches" /> : null}
        <div class="card table-frame">
          <table class="table">
            <caption class="visually-hidden">Devices with position and signal</caption>
            <thead>
              <tr>
                <th scope="col">Device</th>
                <th scope="col">Status</th>
                <th scope="col">Signal</th>
                <th scope="col" class="number">
                  RSRP
                </th>
                <th scope="col">Position</th>
                <th scope="col">Reported</th>
              </tr>
            </thead>
            <tbody>
              {devices.slice(0, mostRows).map((device) => (
                <tr key={device.deviceId}>
                  <td>
                    <button type="button" class="button quiet small" onClick={() => onSelect(device.deviceId)}>
                      {device.name}
                    </button>
                  </td>
                  <td>
                    <StatusLabel status={device.status} />
                  </td>
                  <td>
                    <QualityLabel quality={device.signal?.quality ?? null} rat={device.signal?.rat ?? null} />
                  </td>
                  <td class="number">{measured(device.signal?.rsrpDbm, 'dBm')}</td>
                  <td>
                    {device.location
                      ? `${device.location.lat.toFixed(4)}, ${device.location.lon.toFixed(4)}`
                      : 'unknown'}
                  </td>
                  <td>{ago(device.signal?.ts ?? device.location?.ts ?? null)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {devices.length > mostRows ? (
          <p class="label">
            The first {mostRows} of {devices.length}. Narrow the filters to see others.
          </p>
        ) : null}
      </div>
    </div>
  )
}
