import type { Near, Towns } from '#core/near'
import type { FleetContext } from '#fleet/context'
import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import type { DeadZoneLists } from '#fleet-map/coverage/dead-zone-lists'
import type { FeatureTimes } from '#fleet-map/features/feature-times'
import { townTypes } from '#fleet-map/features/properties'
import type { Feature } from '#fleet-map/gps/formats'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import type { Revisions } from '#fleet-map/revisions'
import type { Reader } from '#questdb/copies/readers'
import type { DwellSignals } from '#questdb/fleet/dwell-signals'
import type { BoundingBox } from '#telemetry/geo/geo'

/** Who reads features, and from what. */
export type FeatureSources = {
  ctx: FleetContext
  fleet: {
    revisions: Revisions
    live: LiveMaps
    coverage: CoverageLists
    deadZones: DeadZoneLists
    dwellSignals: DwellSignals
    towns: Towns
  }
  reader: Reader
}

/** A page of a collection. `nowMs` is the time of its first page, `after` the end of the page before. */
export type FeatureRequest = {
  orgId: string | undefined
  bbox: BoundingBox | undefined
  times: FeatureTimes | undefined
  limit: number
  nowMs: number
  after: string | undefined
  /** Only this feature. */
  id?: string | undefined
}

export type IdentifiedFeature = Feature & { id: string }

/** `features` makes its features when they are written. `numberMatched`: how many features all pages have, if it is known. */
export type FeaturePage = {
  features: Iterable<IdentifiedFeature>
  count: number
  nextAfter: string | null
  numberMatched?: number
}

export const noFeatures: FeaturePage = { features: [], count: 0, nextAfter: null }

type Nested = { [name: string]: unknown }

/** Properties without objects in them, which programs for maps show as text: `rsrpDbm: { p50 }` becomes `rsrpDbm_p50`. */
export function flat(nested: Nested, prefix = ''): Nested {
  const entries = Object.entries(nested).flatMap(([name, value]): [string, unknown][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(flat(value as Nested, `${prefix}${name}_`))
      : [[`${prefix}${name}`, value]],
  )
  return Object.fromEntries(entries)
}

/** A list as text, because few programs for maps have lists; null without entries. */
export const listText = (entries: readonly string[]): string | null => (entries.length > 0 ? entries.join(',') : null)

/** A town near a position as properties. They are always there, because programs take the properties from the first features. */
export const townProperties = (near: Near | null, prefix = '') =>
  Object.fromEntries(townMembers.map((member) => [`${prefix}near_${member}`, near?.[member] ?? null]))

const townMembers = Object.keys(townTypes) as (keyof Near)[]
