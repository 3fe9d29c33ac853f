import type { CoverageCell } from '../../api/schemas.ts'
import { lazyPanel } from '../../components/lazy-panel.tsx'
import type { Resource } from '../../components/resource.ts'
import { boundsOf } from '../../map/surface.ts'
import type { RadioHistory } from '../../state/trail.ts'
import { setParams } from '../../state/url.ts'
import type { Overview, useSelected } from './fleet-data.ts'
import type { useMapCamera } from './map-camera.ts'
import type { DeadZones as DeadZoneList } from './map-data.ts'
import { type MapPlace, selectDevice, shownMs } from './map-place.ts'
import type { OwnedPlace } from './map-places.ts'
import { Timeline } from './timeline.tsx'

const CellPanel = lazyPanel('Coverage cell', async () => (await import('./cell-panel.tsx')).CellPanel)
const DevicePanel = lazyPanel('Device', async () => (await import('./device-panel.tsx')).DevicePanel)
const DeadZones = lazyPanel('Dead zones', async () => (await import('./dead-zones.tsx')).DeadZones)
const PlacePanel = lazyPanel('Place', async () => (await import('./place-panel.tsx')).PlacePanel)
const RoutePanel = lazyPanel('Route forecast', async () => (await import('../route/route-panel.tsx')).RoutePanel)

type SelectedDeviceProps = {
  here: MapPlace
  deviceId: string
  selection: ReturnType<typeof useSelected>
  radio: Resource<RadioHistory>
  /** From when on the history is complete; null if it is as a whole. */
  completeFromMs: number | null
}

/** The panel of the selected device, and the slider that moves along its trail. */
export function SelectedDevice({ here, deviceId, selection, radio, completeFromMs }: SelectedDeviceProps) {
  const { selected: device, isLoading, limitedBy } = selection
  const { sinceMinutes } = here.filter
  const { range } = here
  const times = radio.value?.times ?? []
  const nowMs = Date.now()
  return (
    <>
      <Timeline
        fromMs={completeFromMs ?? range?.fromMs ?? times[0] ?? nowMs - sinceMinutes * 60_000}
        completeFromMs={completeFromMs}
        toMs={range?.toMs ?? times.at(-1) ?? nowMs}
        isPast={range !== null}
        atMs={here.atMs}
        plays={here.plays}
        follows={here.follows}
        name={device?.name ?? 'Device'}
        limitedBy={limitedBy}
      />
      <DevicePanel
        key={deviceId}
        deviceId={deviceId}
        onMap={device}
        isLoading={isLoading}
        radio={radio}
        sinceMinutes={sinceMinutes}
        range={range}
        atMs={shownMs(here)}
        chosenModem={here.modem}
        onClose={() => selectDevice(null)}
      />
    </>
  )
}

type MapPanelProps = {
  here: MapPlace
  overview: Overview
  camera: ReturnType<typeof useMapCamera>
  cell: CoverageCell | undefined
  /** Null if the place in the address was not found. */
  openPlace: OwnedPlace | null | undefined
  zones: Resource<DeadZoneList>
}

/** The panel of the selected coverage cell or place, the dead zones or the route forecast; nothing when none is open. */
export function MapPanel({ here, overview, camera, cell, openPlace, zones }: MapPanelProps) {
  const { org, plmn, sinceMinutes } = here.filter
  if (cell) return <CellPanel cell={cell} onClose={() => setParams({ cell: null })} />
  if (here.placeId && openPlace !== undefined)
    return <PlacePanel key={here.placeId} place={openPlace} onClose={() => setParams({ place: null })} />
  if (here.panel === 'dead-zones')
    return (
      <DeadZones
        zones={zones}
        historyFromMs={overview.historyFromMs}
        operators={overview.operators}
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
        operators={overview.operators}
        centre={() => camera.viewport?.view ?? camera.start}
        onShow={(path) => camera.show(boundsOf(path))}
        onClose={() => setParams({ panel: null, route: null })}
      />
    )
  return null
}
