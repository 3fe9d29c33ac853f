import { useRef } from 'preact/hooks'
import type { CoverageCell, DeadZone, MapDevice } from '../api/types.ts'
import { lazyPanel } from '../components/lazy-panel.tsx'
import type { Resource } from '../components/resource.ts'
import { Failure } from '../components/states.tsx'
import { boundsOf } from '../map/surface.ts'
import { addPoint, drawnRoute, finishRoute, route } from '../state/route.ts'
import { organizationId } from '../state/session.ts'
import type { RadioHistory } from '../state/trail.ts'
import { place, setParams } from '../state/url.ts'
import { CellPanel } from './cell-panel.tsx'
import { DevicePanel } from './device-panel.tsx'
import { Filters } from './filters.tsx'
import { FleetTable } from './fleet-table.tsx'
import { Legend } from './legend.tsx'
import { useMapCamera } from './map-camera.ts'
import { useCoverage, useDeadZones, useDwells, useFleetDevices, useSelectedTrack } from './map-data.ts'
import { type MapPlace, readMapPlace, selectCell, selectDevice } from './map-place.ts'
import { MapSurface } from './map-surface.tsx'
import { Timeline } from './timeline.tsx'

const DeadZones = lazyPanel('Dead zones', async () => (await import('./dead-zones.tsx')).DeadZones)
const RoutePanel = lazyPanel('Route forecast', async () => (await import('./route-panel.tsx')).RoutePanel)

type Fleet = ReturnType<typeof useFleetDevices>

/** The start page: the fleet as a map or as a table. */
export function MapView() {
  const here = readMapPlace(place.value.params, organizationId.value)
  const fleet = useFleetDevices(here)
  if (fleet.phase === 'refused' && fleet.error)
    return (
      <Failure error={fleet.error}>
        {fleet.error.status === 404 ? (
          <a class="button" href="#/map">
            Clear all filters
          </a>
        ) : null}
      </Failure>
    )
  return here.isTable ? (
    <div class="map-as-table">
      <Filters shown={fleet.shown.length} total={fleet.all.size} phase={fleet.phase} operators={fleet.operators} />
      <FleetTable devices={fleet.shown} phase={fleet.phase} />
    </div>
  ) : (
    <FleetMap here={here} fleet={fleet} />
  )
}

/** The map with its filters, and the panel of whatever is selected. */
function FleetMap({ here, fleet }: { here: MapPlace; fleet: Fleet }) {
  const chrome = useRef<HTMLDivElement>(null)
  const selected = here.deviceId ? fleet.all.get(here.deviceId) : undefined
  const camera = useMapCamera(chrome, { devices: fleet.all, selected, selectedId: here.deviceId })
  const coverage = useCoverage(here, camera.viewport)
  const dwells = useDwells(here, fleet.shown)
  const deadZones = useDeadZones(here)
  const { radio, trail } = useSelectedTrack(here)
  const cell = coverage.cells.find(({ h3 }) => h3 === here.cellId)
  const showsRoute = here.panel === 'route' && !here.deviceId
  return (
    <div class="map-view">
      <MapSurface
        start={camera.start}
        devices={fleet.shown}
        selectedId={here.deviceId}
        coverage={coverage.shaded}
        dwells={dwells}
        trail={trail}
        selectedCell={here.cellId}
        zone={deadZones.cells}
        route={showsRoute ? drawnRoute.value : null}
        drawing={showsRoute && route.value.drawing}
        fit={camera.fit}
        reveal={camera.reveal}
        onMove={camera.onMove}
        onSelectDevice={selectDevice}
        onSelectCell={selectCell}
        onPoint={(lon, lat) => addPoint([lon, lat])}
        onFinish={finishRoute}
        onReady={camera.onReady}
      />
      <div class="map-chrome" ref={chrome}>
        <Filters
          shown={fleet.shown.length}
          total={fleet.all.size}
          phase={fleet.phase}
          operators={fleet.operators}
          coverageError={coverage.error}
        />
        {fleet.phase !== 'loading' && fleet.shown.length === 0 ? <NoDevices total={fleet.all.size} /> : null}
        {here.metric === 'off' || coverage.thresholds.rsrpDbm.length === 0 ? null : (
          <Legend metric={here.metric} thresholds={coverage.thresholds} />
        )}
        {here.deviceId ? (
          <SelectedDevice
            here={here}
            deviceId={here.deviceId}
            device={selected}
            radio={radio}
            limitedBy={fleet.limitedBy}
          />
        ) : (
          <MapPanel here={here} fleet={fleet} camera={camera} cell={cell} zones={deadZones.zones} />
        )}
      </div>
    </div>
  )
}

type SelectedDeviceProps = {
  here: MapPlace
  deviceId: string
  device: MapDevice | undefined
  radio: Resource<RadioHistory>
  limitedBy: string | null
}

/** The panel of the selected device, and the slider that moves along its trail. */
function SelectedDevice({ here, deviceId, device, radio, limitedBy }: SelectedDeviceProps) {
  const { sinceMinutes } = here.filter
  const times = radio.value?.times ?? []
  const nowMs = Date.now()
  return (
    <>
      <Timeline
        fromMs={times[0] ?? nowMs - sinceMinutes * 60_000}
        toMs={times.at(-1) ?? nowMs}
        atMs={here.atMs}
        name={device?.name ?? 'Device'}
        limitedBy={limitedBy}
      />
      <DevicePanel
        key={deviceId}
        deviceId={deviceId}
        onMap={device}
        radio={radio}
        sinceMinutes={sinceMinutes}
        atMs={here.atMs}
        onClose={() => selectDevice(null)}
      />
    </>
  )
}

type MapPanelProps = {
  here: MapPlace
  fleet: Fleet
  camera: ReturnType<typeof useMapCamera>
  cell: CoverageCell | undefined
  zones: Resource<DeadZone[]>
}

/** The panel of the selected coverage cell, the dead zones or the route forecast; nothing when none is open. */
function MapPanel({ here, fleet, camera, cell, zones }: MapPanelProps) {
  const { org, plmn, sinceMinutes } = here.filter
  if (cell) return <CellPanel cell={cell} onClose={() => setParams({ cell: null })} />
  if (here.panel === 'dead-zones')
    return (
      <DeadZones
        zones={zones}
        selectedId={here.zoneId}
        onSelect={({ id, bbox }) => {
          setParams({ zone: id })
          camera.show(bbox)
        }}
        onClose={() => setParams({ panel: null, zone: null })}
      />
    )
  if (here.panel === 'route')
    return (
      <RoutePanel
        filter={{ orgId: org, plmn, sinceMinutes: here.hasTimeWindow ? sinceMinutes : null }}
        operators={fleet.operators}
        centre={() => camera.viewport?.view ?? camera.start}
        onShow={(path) => camera.show(boundsOf(path.map(([lon, lat]) => ({ lon, lat }))))}
        onClose={() => setParams({ panel: null, route: null })}
      />
    )
  return null
}

const NoDevices = ({ total }: { total: number }) => (
  <div class="map-empty floating" role="status">
    <strong>{total === 0 ? 'No devices in this time range' : 'No matching devices'}</strong>
    <p class="label">
      {total === 0
        ? 'Devices appear here after their first report. Choose a longer time range or clear the filters.'
        : 'Change the search text or the status filter.'}
    </p>
    <a class="button small" href="#/map">
      Clear all filters
    </a>
  </div>
)
