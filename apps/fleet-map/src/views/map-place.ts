import type { CoverageMetric } from '../map/surface.ts'
import type { FleetFilter } from '../state/fleet.ts'
import { setParams } from '../state/url.ts'

/** The state of the map in the address, with defaults for missing parameters. */
export type MapPlace = {
  /** What the service filters by. */
  filter: FleetFilter
  status: string
  /** Text that the devices' names contain. */
  nameContains: string
  metric: CoverageMetric | 'off'
  deviceId: string | null
  cellId: string | null
  zoneId: string | null
  panel: 'dead-zones' | 'route' | null
  /** The moment that the time slider shows; null means now. */
  atMs: number | null
  isTable: boolean
  /** False while the address leaves the time window to its default. */
  hasTimeWindow: boolean
}

const defaultWindowMinutes = 1_440
const metrics = ['sinr', 'service', 'off'] as const
const panels = ['dead-zones', 'route'] as const

/** Reads the parameters of the address. `org` is the id of the chosen organization, '' for all of them. */
export function readMapPlace(params: Record<string, string>, org: string): MapPlace {
  const { group = '', tag = '', rat = '', plmn = '' } = params
  return {
    filter: { org, group, tag, rat, plmn, sinceMinutes: Number(params.window) || defaultWindowMinutes },
    status: params.status ?? '',
    nameContains: params.q ?? '',
    metric: metrics.find((metric) => metric === params.metric) ?? 'rsrp',
    deviceId: params.device ?? null,
    cellId: params.cell ?? null,
    zoneId: params.zone ?? null,
    panel: panels.find((panel) => panel === params.panel) ?? null,
    atMs: params.t ? Date.parse(params.t) : null,
    isTable: params.as === 'table',
    hasTimeWindow: Boolean(params.window),
  }
}

/** Returns whether a text is long enough to search for: the service needs two characters. */
export const isSearch = (text: string): boolean => text.trim().length >= 2

/** Opens the panel of a device; null closes it. */
export const selectDevice = (deviceId: string | null): void => setParams({ device: deviceId, cell: null, t: null })

/** Opens the panel of a coverage cell. */
export const selectCell = (h3: string): void => setParams({ cell: h3, device: null, t: null })
