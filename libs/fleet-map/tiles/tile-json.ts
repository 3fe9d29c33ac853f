import type { FleetOverview } from '#fleet-map/tiles/overview'
import { type TileLayerName, tileLayerNames } from '#fleet-map/tiles/tile-feature'
import { maxTileZoom } from '#fleet-map/tiles/tile-math'
import type { TileRequest } from '#fleet-map/tiles/tile-request'
import { pointsFromZoom } from '#fleet-map/tiles/zoom-levels'
import { maxMercatorLat } from '#telemetry/geo/mercator'

type FieldType = 'String' | 'Number' | 'Boolean'

// The values are types alone: GDAL and QGIS read a column as numbers only if its value is `Number`.
const deviceFields = {
  deviceId: 'String',
  name: 'String',
  status: 'String',
  quality: 'String',
  rsrpDbm: 'Number',
  modem: 'String',
  headingDeg: 'Number',
  speedMps: 'Number',
  ageS: 'Number',
  motion: 'String',
  count: 'Number',
  online: 'Number',
  offline: 'Number',
  worstQuality: 'String',
  noneCount: 'Number',
  poorCount: 'Number',
  fairCount: 'Number',
  goodCount: 'Number',
  excellentCount: 'Number',
} as const

const coverageFields = {
  h3: 'String',
  samples: 'Number',
  devices: 'Number',
  serviceRatio: 'Number',
  rsrpP50Dbm: 'Number',
  sinrP50Db: 'Number',
  quality: 'String',
  confidence: 'String',
} as const

const dwellFields = {
  id: 'String',
  deviceId: 'String',
  arrivedAt: 'String',
  durationS: 'Number',
  radiusM: 'Number',
  ongoing: 'Boolean',
} as const

const vectorLayers: Record<TileLayerName, { description: string; fields: Record<string, FieldType> }> = {
  devices: {
    description: `Points. From zoom ${pointsFromZoom} on each device, below one feature for each H3 cell: a device, or a cluster with count, online, offline, worstQuality and the number of devices in each quality class (noneCount to excellentCount).`,
    fields: deviceFields,
  },
  coverage: { description: 'Polygons. H3 cells with their signal.', fields: coverageFields },
  dwells: { description: 'Points. Dwells in the time window.', fields: dwellFields },
}

/** TileJSON 3.0.0 for these layers, with `window` and `fleet` in addition. `tilesUrl` is the absolute template of the tiles. */
export const tileJson = (
  tilesUrl: string,
  layers: readonly TileLayerName[],
  { window, fleet }: { window: TileRequest['window']; fleet: FleetOverview | null },
) => ({
  tilejson: '3.0.0' as const,
  name: 'Routerfleet',
  description: 'Devices, coverage and dwells of the fleet. Requests for tiles need the same credentials as this one.',
  scheme: 'xyz' as const,
  tiles: [tilesUrl],
  minzoom: 0,
  maxzoom: maxTileZoom,
  bounds: [-180, -maxMercatorLat, 180, maxMercatorLat],
  vector_layers: tileLayerNames
    .filter((name) => layers.includes(name))
    .map((id) => ({ id, ...vectorLayers[id], minzoom: 0, maxzoom: maxTileZoom })),
  window,
  fleet,
})
