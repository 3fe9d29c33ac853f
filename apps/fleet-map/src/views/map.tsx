import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { CoverageCell, DeadZone, Dwell, MapDevice, Page } from '../api/types.ts'
import { lazyPanel } from '../components/lazy-panel.tsx'
import { useResource } from '../components/resource.ts'
import { Failure } from '../components/states.tsx'
import { type Bounds, boundsOf, type CoverageMetric, type Padding, type Reveal, type View } from '../map/surface.ts'
import { shade, type Thresholds } from '../state/coverage.ts'
import { fleet, followFleet } from '../state/fleet.ts'
import { addPoint, drawnRoute, finishRoute, route } from '../state/route.ts'
import { organizationId } from '../state/session.ts'
import { radioHistory, readTrack, trailUntil } from '../state/trail.ts'
import { place, setParams } from '../state/url.ts'
import { CellPanel } from './cell-panel.tsx'
import { DevicePanel } from './device-panel.tsx'
import { Filters } from './filters.tsx'
import { FleetTable } from './fleet-table.tsx'
import { Legend } from './legend.tsx'
import { MapSurface } from './map-surface.tsx'
import { Timeline } from './timeline.tsx'

const DeadZones = lazyPanel('Dead zones', async () => (await import('./dead-zones.tsx')).DeadZones)
const RoutePanel = lazyPanel('Route forecast', async () => (await import('./route-panel.tsx')).RoutePanel)

type CoverageAnswer = { window: { from: string; to: string; limitedBy: string | null }; items: CoverageCell[] }

const world: View = { lon: 8, lat: 30, zoom: 1.6 }
const maxDwells = 1_000
const maxZones = 50
const nothing: never[] = []

function startView(): View {
  const { lon, lat, z } = place.value.params
  const view = { lon: Number(lon), lat: Number(lat), zoom: Number(z) }
  return z && Object.values(view).every(Number.isFinite) ? view : world
}

const matches = (device: MapDevice, status: string, q: string): boolean =>
  (status === '' || device.status === status) && (q === '' || device.name.toLowerCase().includes(q.toLowerCase()))

/** The box of a map view as the service takes it; wider than the world means no box at all. */
function bboxOf([west, south, east, north]: Bounds): string | null {
  if (east - west >= 360) return null
  const wrap = (lon: number) => ((((lon + 180) % 360) + 360) % 360) - 180
  const [from, to] = [wrap(west), wrap(east)]
  if (from >= to) return null
  return [from, Math.max(-90, south), to, Math.min(90, north)].map((degrees) => degrees.toFixed(5)).join(',')
}

/** The start page: every router on the map, coverage below, one device or cell in the panel. */
export function MapView() {
  const { params } = place.value
  const [start] = useState(startView)
  const [box, setBox] = useState<{ view: View; bounds: Bounds }>()
  const [fit, setFit] = useState<{ bounds: Bounds; padding: Padding } | null>(null)
  const [reveal, setReveal] = useState<Reveal | null>(null)
  const chrome = useRef<HTMLDivElement>(null)
  const {
    group = '',
    tag = '',
    rat = '',
    plmn = '',
    status = '',
    q = '',
    device: selectedId = null,
    cell: cellId,
  } = params
  const org = organizationId.value
  const sinceMinutes = Number(params.window) || 1_440
  const metric: CoverageMetric | 'off' =
    (['sinr', 'service', 'off'] as const).find((one) => one === params.metric) ?? 'rsrp'
  const atMs = params.t ? Date.parse(params.t) : null

  useEffect(() => followFleet({ org, group, tag, rat, plmn, sinceMinutes }), [org, group, tag, rat, plmn, sinceMinutes])
  const thresholds = useResource('thresholds', (signal) =>
    call<{ rsrpDbm: number[]; sinrDb: number[] }>('/signal-thresholds', { signal }),
  )

  const filters = { orgId: org, groupId: group, tag: tag ? tag.split(',') : null, sinceMinutes }
  const area = { bbox: box ? bboxOf(box.bounds) : null, zoom: box ? Math.round(box.view.zoom) : null }
  // A fleet that has just begun to report has its first hexagons within a minute: they are waited for.
  const [hasCells, setHasCells] = useState(false)
  const coverage = useResource(
    metric === 'off' || !box ? 'no coverage' : JSON.stringify(['coverage', filters, plmn, rat, area]),
    async (signal) =>
      metric === 'off' || !box
        ? undefined
        : call<CoverageAnswer>('/fleet/coverage', { signal, query: { ...filters, ...area, plmn, rat } }),
    { everyMs: hasCells ? 60_000 : 5_000 },
  )
  const dwells = useResource(
    JSON.stringify(['dwells', filters]),
    async (signal) =>
      (await call<Page<Dwell>>('/fleet/dwells', { signal, query: { ...filters, limit: 200 } })).items.slice(
        0,
        maxDwells,
      ),
    { everyMs: 60_000 },
  )
  const showsZones = params.panel === 'dead-zones'
  const zones = useResource(
    showsZones ? JSON.stringify(['dead zones', filters, plmn]) : 'no dead zones',
    async (signal) =>
      showsZones
        ? (await call<Page<DeadZone>>('/fleet/dead-zones', { signal, query: { ...filters, plmn, limit: maxZones } }))
            .items
        : [],
    { everyMs: 60_000 },
  )
  const radioRows = useResource(
    `radio ${selectedId} ${sinceMinutes}`,
    async (signal) => (selectedId ? readTrack(selectedId, sinceMinutes, signal) : undefined),
    { everyMs: 30_000 },
  )

  const bounds = useMemo<Thresholds>(
    () => ({ rsrpDbm: thresholds.value?.rsrpDbm ?? [], sinrDb: thresholds.value?.sinrDb ?? [] }),
    [thresholds.value],
  )
  const { devices: all, version, phase, error, limitedBy } = fleet.value
  const devices = useMemo(() => [...all.values()].filter((one) => matches(one, status, q)), [version, status, q])
  const operators = useMemo(() => operatorsOf(all.values()), [version])
  // While a coarser or finer answer is on its way the old hexagons stay.
  const cells = useLast(metric === 'off' ? nothing : coverage.value?.items) ?? nothing
  useEffect(() => setHasCells(cells.length > 0), [cells])
  const shaded = useMemo(() => (metric === 'off' ? nothing : shade(cells, metric, bounds)), [cells, metric, bounds])
  const stays = useMemo(() => {
    const shown = new Set(devices.map((one) => one.deviceId))
    return (dwells.value ?? []).filter((dwell) => shown.has(dwell.deviceId))
  }, [dwells.value, devices])
  const radio = useMemo(() => (radioRows.value ? radioHistory(radioRows.value) : undefined), [radioRows.value])
  const trail = useMemo(
    () => (selectedId && radio ? trailUntil(radio.trail, atMs) : nothing),
    [radio, atMs, selectedId],
  )

  const selected = selectedId ? all.get(selectedId) : undefined
  useEffect(() => {
    if (fitted.current || all.size === 0) return
    const shown = selected ? [selected] : [...all.values()]
    const around = boundsOf(shown.flatMap((one) => (one.location ? [one.location] : [])))
    if (!around) return
    fitted.current = true
    setFit({ bounds: around, padding: freeOfPanels(chrome.current) })
  }, [version])

  // A device that was just selected must not lie under its own panel.
  const revealed = useRef<string | null>(null)
  useEffect(() => {
    if (revealed.current === selectedId || (selectedId && !selected?.location)) return
    revealed.current = selectedId
    if (selected?.location) setReveal({ at: selected.location, padding: freeOfPanels(chrome.current) })
  }, [selectedId, selected])

  const onMove = useCallback((view: View, seen: Bounds) => {
    setBox({ view, bounds: seen })
    const { lon, lat, zoom } = view
    setParams({ lon: lon.toFixed(4), lat: lat.toFixed(4), z: zoom.toFixed(2) }, { replace: true })
  }, [])
  const zoneCells = useMemo(
    () => (showsZones ? zones.value?.find(({ id }) => id === params.zone)?.cells : undefined) ?? nothing,
    [showsZones, zones.value, params.zone],
  )
  const showZone = useCallback((zone: DeadZone) => {
    setParams({ zone: zone.id })
    setFit({ bounds: zone.bbox, padding: freeOfPanels(chrome.current) })
  }, [])
  // The first picture shows the whole fleet or the selected device, unless the address says where to look.
  const fitted = useRef(Boolean(params.z || params.route))
  const showPath = useCallback((path: readonly [number, number][]) => {
    const around = boundsOf(path.map(([lon, lat]) => ({ lon, lat })))
    if (!around) return
    fitted.current = true
    setFit({ bounds: around, padding: freeOfPanels(chrome.current) })
  }, [])
  const showsRoute = params.panel === 'route' && !selectedId
  const select = useCallback((id: string | null) => setParams({ device: id, cell: null, t: null }), [])
  const selectCell = useCallback((h3: string) => setParams({ cell: h3, device: null, t: null }), [])

  const cell = cellId ? cells.find((one) => one.h3 === cellId) : undefined
  const nowMs = Date.now()

  if (phase === 'refused' && error)
    return (
      <Failure error={error}>
        {error.status === 404 ? (
          <a class="button" href="#/map">
            Clear all filters
          </a>
        ) : null}
      </Failure>
    )
  const filterPanel = (
    <Filters
      shown={devices.length}
      total={all.size}
      phase={phase}
      operators={operators}
      coverageError={coverage.error}
    />
  )
  if (params.as === 'table')
    return (
      <div class="map-as-table">
        {filterPanel}
        <FleetTable devices={devices} phase={phase} />
      </div>
    )
  return (
    <div class="map-view">
      <MapSurface
        start={start}
        devices={devices}
        selectedId={selectedId}
        coverage={shaded}
        dwells={stays}
        trail={trail}
        selectedCell={cellId ?? null}
        zone={zoneCells}
        route={showsRoute ? drawnRoute.value : null}
        drawing={showsRoute && route.value.drawing}
        fit={fit}
        reveal={reveal}
        onMove={onMove}
        onSelectDevice={select}
        onSelectCell={selectCell}
        onPoint={(lon, lat) => addPoint([lon, lat])}
        onFinish={finishRoute}
        onReady={(opened) => setBox({ view: start, bounds: opened.bounds() })}
      />
      <div class="map-chrome" ref={chrome}>
        {filterPanel}
        {phase !== 'loading' && devices.length === 0 ? <NothingToShow total={all.size} /> : null}
        {metric === 'off' || bounds.rsrpDbm.length === 0 ? null : <Legend metric={metric} thresholds={bounds} />}
        {selectedId ? (
          <>
            <Timeline
              fromMs={radio?.times[0] ?? nowMs - sinceMinutes * 60_000}
              toMs={radio?.times.at(-1) ?? nowMs}
              atMs={atMs}
              name={selected?.name ?? 'Device'}
              limitedBy={limitedBy}
            />
            <DevicePanel
              key={selectedId}
              deviceId={selectedId}
              onMap={selected}
              radio={{ value: radio, error: radioRows.error, loading: radioRows.loading, reload: radioRows.reload }}
              sinceMinutes={sinceMinutes}
              atMs={atMs}
              onClose={() => select(null)}
            />
          </>
        ) : null}
        {cell ? <CellPanel cell={cell} onClose={() => setParams({ cell: null })} /> : null}
        {!selectedId && !cell && showsZones ? (
          <DeadZones
            zones={zones}
            selectedId={params.zone ?? null}
            onSelect={showZone}
            onClose={() => setParams({ panel: null, zone: null })}
          />
        ) : null}
        {showsRoute && !cell ? (
          <RoutePanel
            filter={{ orgId: org, plmn, sinceMinutes: params.window ? sinceMinutes : null }}
            operators={operators}
            middle={() => box?.view ?? start}
            onShow={showPath}
            onClose={() => setParams({ panel: null, route: null })}
          />
        ) : null}
      </div>
    </div>
  )
}

const NothingToShow = ({ total }: { total: number }) => (
  <div class="map-empty floating" role="status">
    <strong>{total === 0 ? 'No device in this window' : 'No device matches'}</strong>
    <p class="label">
      {total === 0
        ? 'Devices appear here once they report. Widen the time or clear the filters.'
        : 'Change the search or the status.'}
    </p>
    <a class="button small" href="#/map">
      Clear all filters
    </a>
  </div>
)

const edge = 32

/** What is left of the map: filters lie left of it on wide screens and above on narrow ones, panels right or below. */
function freeOfPanels(chrome: HTMLElement | null): Padding {
  const box = (selector: string) => chrome?.querySelector<HTMLElement>(selector) ?? undefined
  const [filters, panel, timeline] = [box('.map-filters'), box('.device-panel'), box('.timeline')]
  const padding = { left: edge, top: edge, right: edge, bottom: edge }
  if (!filters || !chrome) return padding
  const below = timeline ?? (filters.offsetWidth < chrome.clientWidth / 2 ? undefined : panel)
  if (below) padding.bottom += chrome.clientHeight - below.offsetTop
  if (filters.offsetWidth < chrome.clientWidth / 2) {
    padding.left += filters.offsetLeft + filters.offsetWidth
    if (panel) padding.right += chrome.clientWidth - panel.offsetLeft
  } else padding.top += filters.offsetTop + filters.offsetHeight
  return padding
}

function operatorsOf(devices: Iterable<MapDevice>): { plmn: string; name: string }[] {
  const names = new Map<string, string>()
  for (const { signal } of devices) if (signal?.plmn) names.set(signal.plmn, signal.operatorName ?? signal.plmn)
  return [...names].map(([plmn, name]) => ({ plmn, name })).sort((a, b) => a.name.localeCompare(b.name))
}

function useLast<Value>(value: Value | undefined): Value | undefined {
  const last = useRef<Value | undefined>(undefined)
  if (value !== undefined) last.current = value
  return last.current
}
