import type { DeviceStatus } from '../../api/schemas.ts'
import type { CoverageMetric } from '../../map/surface.ts'
import type { FleetFilter } from '../../state/fleet.ts'
import type { TimeRange } from '../../state/history.ts'
import { maxWindowMinutes, windowMinutes } from '../../state/time-window.ts'
import { setParams } from '../../state/url.ts'

/** The state of the map in the address, with defaults for missing parameters. */
export type MapPlace = {
  /** What the service filters by. */
  filter: FleetFilter
  status: DeviceStatus | ''
  /** Text that the devices' names contain. */
  nameContains: string
  metric: CoverageMetric | 'off'
  deviceId: string | null
  /** The modem that the panel of the device shows; null for the active one. */
  modem: string | null
  cellId: string | null
  placeId: string | null
  zoneId: string | null
  panel: 'dead-zones' | 'route' | null
  /** The moment that the time slider shows; null means now. */
  atMs: number | null
  /** The trail is to be played. */
  plays: boolean
  /** The map keeps the device in view. */
  follows: boolean
  isTable: boolean
  /** A time range in the past, for the trail and the charts of the selected device; null means the time until now. */
  range: TimeRange | null
  /** False while the address leaves the time window to its default. */
  hasTimeWindow: boolean
}

const metrics = ['sinr', 'service', 'off'] as const
const panels = ['dead-zones', 'route'] as const

/** Reads the parameters of the address. `org` is the id of the chosen organization, '' for all of them. */
export function readMapPlace(params: Record<string, string>, org: string): MapPlace {
  const { group = '', tag = '', plmn = '', signal = '' } = params
  // The service refuses words that it does not know.
  const rat = (params.rat ?? '') as FleetFilter['rat']
  return {
    filter: { org, group, tag, rat, plmn, signal, sinceMinutes: minutesOf(params, Date.now()) },
    status: (params.status ?? '') as MapPlace['status'],
    nameContains: params.q ?? '',
    metric: metrics.find((metric) => metric === params.metric) ?? 'rsrp',
    deviceId: params.device ?? null,
    modem: params.modem ?? null,
    cellId: params.cell ?? null,
    placeId: params.place ?? null,
    zoneId: params.zone ?? null,
    panel: panels.find((panel) => panel === params.panel) ?? null,
    atMs: params.t ? Date.parse(params.t) : null,
    plays: params.play === '1',
    follows: params.follow === '1',
    isTable: params.as === 'table',
    range: rangeOf(params),
    hasTimeWindow: Boolean(params.window || params.from),
  }
}

/** Reads the time range of an address; null without a valid one. */
function rangeOf({ from = '', to = '' }: Record<string, string>): TimeRange | null {
  const range = { fromMs: Date.parse(from), toMs: Date.parse(to) }
  return range.fromMs < range.toMs ? range : null
}

const quarterMinutes = 15

/**
 * Returns the minutes that the fleet, its coverage and its dwells are read for. They always end now, so a range in the past
 * counts from its start, rounded up so that it does not change with every minute.
 */
function minutesOf(params: Record<string, string>, nowMs: number): number {
  const range = rangeOf(params)
  if (!range) return windowMinutes(params.window)
  const minutes = Math.ceil((nowMs - range.fromMs) / 60_000 / quarterMinutes) * quarterMinutes
  return Math.min(maxWindowMinutes, Math.max(quarterMinutes, minutes))
}

/** Returns the moment that the map and the panel show of the selected device; null means now. */
export const shownMs = ({ atMs, range }: Pick<MapPlace, 'atMs' | 'range'>): number | null => atMs ?? range?.toMs ?? null

/** Returns whether a text is long enough to search for: the service needs two characters. */
export const isSearch = (text: string): boolean => text.trim().length >= 2

/** Opens the panel of a device; null closes it. */
export const selectDevice = (deviceId: string | null): void => setParams({ ...noDevice, device: deviceId, cell: null })

const noDevice = { device: null, modem: null, t: null, follow: null }

/** Closes the panels of what is selected on the map. */
export const selectNothing = (): void => setParams({ ...noDevice, cell: null, place: null })

/** Closes the panel on top: of the device, of the cell, of the place, or of the dead zones or the route. */
export function closePanel({ deviceId, cellId, placeId }: Pick<MapPlace, 'deviceId' | 'cellId' | 'placeId'>): void {
  if (deviceId) selectDevice(null)
  else if (cellId) setParams({ cell: null })
  else if (placeId) setParams({ place: null })
  else setParams({ panel: null, zone: null, route: null })
}

/** Opens the panel of a coverage cell. */
export const selectCell = (h3: string): void => setParams({ ...noDevice, cell: h3 })

/** Opens the panel of a place. */
export const selectPlace = (placeId: string): void => setParams({ ...noDevice, place: placeId, cell: null })
