import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { FleetDevice } from '../../api/schemas.ts'
import { lazyView } from '../../components/lazy-view.tsx'
import { PlanHistory } from '../../components/plan-history.tsx'
import type { Resource } from '../../components/resource.ts'
import { Failure } from '../../components/states.tsx'
import { useTitle } from '../../components/title.ts'
import { type Bounds, boundsOf, maxClusterZoom, type TrailPoint } from '../../map/surface.ts'
import type { LonLat } from '../../route/geometry.ts'
import { shadingOf } from '../../state/coverage.ts'
import { deviceAt } from '../../state/device-moment.ts'
import { canDrawMap } from '../../state/map-support.ts'
import { addPoint, drawnRoute, finishRoute, route } from '../../state/route.ts'
import { organizationId } from '../../state/session.ts'
import type { RadioHistory } from '../../state/trail.ts'
import { linkTo, place } from '../../state/url.ts'
import { useCell } from './cell-data.ts'
import { Filters } from './filters.tsx'
import {
  type Hit,
  type Overview,
  type SearchResult,
  useFound,
  useOverview,
  useSelected,
  useTileAddresses,
} from './fleet-data.ts'
import { Legend } from './legend.tsx'
import css from './map.module.css'
import { useMapCamera } from './map-camera.ts'
import { useDeadZones, useSelectedTrack, useThresholds } from './map-data.ts'
import { MapPanel, SelectedDevice } from './map-panels.tsx'
import {
  closePanel,
  type MapPlace,
  readMapPlace,
  selectCell,
  selectDevice,
  selectNothing,
  selectPlace,
  shownMs,
} from './map-place.ts'
import { showsPlaces, usePlaces } from './map-places.ts'
import { MapSurface } from './map-surface.tsx'

// The list of devices serves keyboard users, screen readers and browsers without a map.
const FleetTable = lazyView(async () => (await import('../devices/devices.tsx')).DevicesView)

/** The start page: the fleet as a map or as a table. */
export function MapView() {
  const here = readMapPlace(place.value.params, organizationId.value)
  return here.isTable || !canDrawMap.value ? <FleetTable /> : <MapOfFleet here={here} />
}

function MapOfFleet({ here }: { here: MapPlace }) {
  const overview = useOverview(here)
  const found = useFound(here)
  if (overview.phase === 'refused' && overview.error)
    return (
      <Failure error={overview.error}>
        {overview.error.status === 404 ? (
          <a class="button" href={linkTo('map')}>
            Clear all filters
          </a>
        ) : null}
      </Failure>
    )
  return <FleetMap here={here} overview={overview} found={found} />
}

const none: never[] = []

type FleetMapProps = { here: MapPlace; overview: Overview; found: SearchResult | undefined }

/** The map with its filters, and the panel of whatever is selected. */
function FleetMap({ here, overview, found }: FleetMapProps) {
  const chrome = useRef<HTMLDivElement>(null)
  const selection = useSelected(here)
  const { selected } = selection
  const deadZones = useDeadZones(here)
  const places = usePlaces(here, showsPlaces(place.value.params))
  const { radio, trail, completeFromMs } = useSelectedTrack(here, selection)
  const marked = useMarked(here, selected, trail)
  const home = useHome({ here, selection, radio, deadZones, places, overview })
  const followed = here.follows && here.deviceId ? (marked?.location ?? undefined) : undefined
  const camera = useMapCamera(chrome, { home, selected: marked, selectedId: here.deviceId, followed })
  const thresholds = useThresholds()
  const cell = useCell(here)
  const tiles = useTileAddresses(here, found, camera.isPlaced)
  const { metric } = here
  const shading = useMemo(() => shadingOf(metric === 'off' ? 'rsrp' : metric, thresholds), [metric, thresholds])
  const alone = (here.range ? undefined : found?.devices) ?? none
  const devices = useMemo(
    () => (marked ? [...alone.filter(({ deviceId }) => deviceId !== marked.deviceId), marked] : alone),
    [alone, marked],
  )
  const seek = useSought(here, devices, (location) => camera.show(pointOf(location)))
  useEscape(here)
  useTitle(selected?.name ?? places.open?.name ?? '')
  const showsRoute = here.panel === 'route' && !here.deviceId
  const shown = found?.hits.length ?? overview.devices
  return (
    <div class={css.mapView}>
      <MapSurface
        start={camera.start}
        devices={devices}
        selectedId={here.deviceId}
        tiles={tiles}
        shading={shading}
        trail={trail}
        selectedCell={here.cellId}
        zone={deadZones.cells}
        areas={places.areas}
        route={showsRoute ? drawnRoute.value : null}
        drawing={showsRoute && route.value.drawing}
        fit={camera.fit}
        look={camera.look}
        reveal={camera.reveal}
        onMove={camera.onMove}
        onSelectDevice={(id) => (id ? selectDevice(id) : selectNothing())}
        onSelectCell={selectCell}
        onSelectPlace={selectPlace}
        onSelectCluster={(bounds) => camera.show(bounds, maxClusterZoom)}
        onPoint={(lon, lat) => addPoint([lon, lat])}
        onFinish={finishRoute}
        onReady={camera.onReady}
      />
      <div class={css.mapChrome} data-folds-filters={here.deviceId !== null && here.nameContains === ''} ref={chrome}>
        <Filters {...{ overview, found }} places={places.count} box={() => camera.viewport?.bounds} onHit={seek} />
        {overview.isKnown && shown === 0 && !isPanelOpen(here) ? <NoDevices here={here} overview={overview} /> : null}
        {metric === 'off' || thresholds.rsrpDbm.length === 0 ? null : (
          <Legend metric={metric} thresholds={thresholds} hasPlaces={places.areas.length > 0} />
        )}
        {here.deviceId ? (
          <SelectedDevice
            here={here}
            deviceId={here.deviceId}
            selection={selection}
            radio={radio}
            completeFromMs={completeFromMs}
          />
        ) : (
          <MapPanel
            here={here}
            overview={overview}
            camera={camera}
            cell={cell}
            openPlace={places.isLoading ? undefined : (places.open ?? null)}
            zones={deadZones.zones}
          />
        )}
      </div>
    </div>
  )
}

/** The selected device as the map marks it: in the past, where it was. */
function useMarked(here: MapPlace, selected: FleetDevice | undefined, trail: readonly TrailPoint[]) {
  const moment = shownMs(here)
  return useMemo(
    () => (selected && moment !== null ? deviceAt(selected, trail, Date.now()) : selected),
    [selected, trail, moment],
  )
}

type HomeSources = {
  here: MapPlace
  selection: ReturnType<typeof useSelected>
  radio: Resource<RadioHistory>
  deadZones: ReturnType<typeof useDeadZones>
  places: ReturnType<typeof usePlaces>
  overview: Overview
}

/** What the map shows first: what is selected, or else the fleet. Null for the world, undefined while it is unknown. */
function useHome({ here, selection: { selected, isLoading }, radio, deadZones, places, overview }: HomeSources) {
  // The trail of a range in the past is shown as a whole.
  const isTrip = here.range !== null && here.deviceId !== null
  const way = useMemo(
    () => (isTrip ? boundsOf((radio.value?.trail ?? none).map(({ lon, lat }): LonLat => [lon, lat])) : null),
    [isTrip, radio.value],
  )
  if (isLoading || (isTrip && radio.loading)) return undefined
  if ((here.zoneId && deadZones.isLoading) || (here.placeId !== null && places.isLoading)) return undefined
  const target = selected?.location ? (way ?? pointOf(selected.location)) : (deadZones.selected?.bbox ?? places.box)
  return target ?? (overview.phase === 'loading' ? undefined : overview.bounds)
}

/** Returns a function that selects a hit of the search. The map moves to the device as soon as its position is known. */
function useSought(
  here: MapPlace,
  devices: readonly FleetDevice[],
  show: (location: { lon: number; lat: number }) => void,
): (hit: Hit) => void {
  const [soughtId, setSoughtId] = useState<string | null>(null)
  const sought = soughtId === here.deviceId ? devices.find(({ deviceId }) => deviceId === soughtId) : undefined
  useEffect(() => {
    if (!sought) return
    // The panel of the device is open by now, and the map leaves it free.
    if (sought.location) show(sought.location)
    setSoughtId(null)
  }, [sought])
  return ({ deviceId }) => {
    selectDevice(deviceId)
    setSoughtId(deviceId)
  }
}

/** Escape closes what is open on the map, except while a dialog or a route being drawn needs it. */
function useEscape(here: MapPlace): void {
  const isOpen = isPanelOpen(here)
  useEffect(() => {
    if (!isOpen) return
    const close = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || event.defaultPrevented || document.querySelector('dialog[open]')) return
      if (route.value.drawing && here.panel === 'route' && !here.deviceId) return
      closePanel(here)
    }
    addEventListener('keydown', close)
    return () => removeEventListener('keydown', close)
  }, [isOpen, here.deviceId, here.cellId, here.placeId, here.panel])
}

const isPanelOpen = ({ deviceId, cellId, placeId, panel }: MapPlace): boolean =>
  Boolean(deviceId || cellId || placeId || panel)

const pointOf = ({ lon, lat }: { lon: number; lat: number }): Bounds => [lon, lat, lon, lat]

/** Whether something other than the time range hides devices. */
const isFilteredBy = ({ filter: { group, tag, rat, plmn, signal }, status, nameContains }: MapPlace): boolean =>
  [group, tag, rat, plmn, signal, status, nameContains].some((value) => value !== '')

function NoDevices({ here, overview }: Pick<FleetMapProps, 'here' | 'overview'>) {
  const isFiltered = isFilteredBy(here)
  return (
    <div class={`${css.mapEmpty} floating`} role="status">
      <strong>{isFiltered ? 'No matching devices' : 'No devices in this time range'}</strong>
      <p class="label">
        {isFiltered
          ? 'Change the search text or the filters, or choose another time range.'
          : here.range
            ? 'No device reported a position in it.'
            : 'Devices appear here after their first report. Choose a longer time range.'}
      </p>
      <PlanHistory fromMs={overview.historyFromMs} />
      {isFiltered ? (
        <a class="button small" href={linkTo('map')}>
          Clear all filters
        </a>
      ) : null}
    </div>
  )
}
