import { ServiceError } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import type { CoverageLists } from '#fleet-map/coverage/coverage-lists'
import { deletedAmong } from '#fleet-map/dwells/deleted-devices'
import type { DwellLists } from '#fleet-map/dwells/dwell-lists'
import type { LiveMaps } from '#fleet-map/live/live-maps'
import { coverageBox } from '#fleet-map/tiles/coverage-layer'
import type { DeviceIndex } from '#fleet-map/tiles/device-index'
import { deviceFeatures } from '#fleet-map/tiles/device-layer'
import { dwellBox, dwellFeature, dwellsIn } from '#fleet-map/tiles/dwell-layer'
import { tileTag } from '#fleet-map/tiles/encode'
import type { FleetOverview } from '#fleet-map/tiles/overview'
import type { TileContent, TileFeature, TileLayerName, TileLayers } from '#fleet-map/tiles/tile-feature'
import type { Tile } from '#fleet-map/tiles/tile-math'
import type { TileRequest } from '#fleet-map/tiles/tile-request'
import type { TileSources } from '#fleet-map/tiles/tile-sources'
import type { Reader } from '#questdb/copies/readers'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'

type TileMaps = { live: LiveMaps; coverage: CoverageLists; dwells: DwellLists; tiles: TileSources }
type Sources = { ctx: FleetContext; fleet: TileMaps; reader: Reader; request: TileRequest; tile: Tile }

/** Reads the requested layers of a tile. */
export async function readTile(sources: Sources): Promise<TileContent> {
  const { request, ctx } = sources
  const read = await Promise.all(
    request.layers.map(async (name) => [name, await unlessTooLarge(layerReaders[name](sources))] as const),
  )
  const layers: TileLayers = {}
  const omitted = [...request.omitted]
  for (const [name, features] of read) {
    if (features) layers[name] = inOrder(features)
    else omitted.push(name)
  }
  return {
    layers,
    isEmpty: Object.values(layers).every((features) => features.length === 0),
    omitted,
    etag: tileTag(layers),
    nowMs: ctx.clock(),
  }
}

const layerReaders: Record<TileLayerName, (sources: Sources) => Promise<TileFeature[]>> = {
  async devices({ ctx, fleet, reader, request, tile }) {
    return deviceFeatures(await openIndex({ ctx, fleet, reader, request }), tile, ctx.clock())
  },

  async coverage({ fleet, reader, request, tile }) {
    const { query, members, covered } = request
    const { tag, rat, plmn } = query
    const h3Resolution = resolutionForZoom(tile.z)
    const group = members?.group
    const { entries } = await fleet.coverage.read(
      { reader, organizations: covered, h3Resolution, bbox: coverageBox(tile), group, tags: tag, rat, plmn },
      reader.signal,
    )
    return fleet.tiles.coverageShapes.features(entries, tile)
  },

  async dwells({ ctx, fleet, reader, request, tile }) {
    const { dwelt, query, members } = request
    const { entries } = await fleet.dwells.read(
      { reader, organizations: dwelt, bbox: dwellBox(tile), group: members?.group, tags: query.tag },
      reader.signal,
    )
    const nowMs = ctx.clock()
    const present = entries.flatMap(({ item, isGone }) => (isGone ? [] : [item.row]))
    const rows = dwellsIn(present, tile, nowMs)
    const deleted = await deletedAmong(
      ctx.pool,
      [],
      rows.map(({ deviceId }) => deviceId),
    )
    return rows.filter(({ deviceId }) => !deleted.has(deviceId)).map((row) => dwellFeature(row, tile, nowMs))
  },
}

/** Reads what a map must know of all devices of a request before it draws the first tile. */
export async function readOverview(sources: Omit<Sources, 'tile'>): Promise<FleetOverview> {
  const index = await openIndex(sources)
  return index.overview(sources.ctx.clock())
}

async function openIndex({ ctx, fleet, reader, request }: Omit<Sources, 'tile'>): Promise<DeviceIndex> {
  const { organizations, query, members } = request
  const maps = await Promise.all(
    organizations.map(({ organizationId, windowMs }) =>
      fleet.live.read(organizationId, ctx.clock() - windowMs, reader),
    ),
  )
  const { groupId, tag, rat, plmn, signal, status } = query
  const indexed = maps.map((map, index) => ({ map, windowMs: organizations[index]?.windowMs ?? 0 }))
  const filter = { groupId, members, tags: tag, rat, plmn, signal, status }
  return fleet.tiles.indexes.open(indexed, filter, (work) => reader.detached().heavy(work))
}

const sizeErrors = ['too_many_cells', 'too_many_dwells']

/** Undefined if the layer has more items than one response may have. A map must not stay empty because of one layer. */
async function unlessTooLarge(features: Promise<TileFeature[]>): Promise<TileFeature[] | undefined> {
  try {
    return await features
  } catch (error) {
    if (error instanceof ServiceError && sizeErrors.includes(error.code)) return undefined
    throw error
  }
}

/** Features by their position, because an index returns them in the order of their changes. */
function inOrder(features: TileFeature[]): TileFeature[] {
  const keyed = features.map((feature) => ({ feature, key: orderKey(feature) }))
  keyed.sort((a, b) => a.key - b.key || (identityOf(a.feature) < identityOf(b.feature) ? -1 : 1))
  return keyed.map(({ feature }) => feature)
}

function orderKey({ type, geometry }: TileFeature): number {
  const [x = 0, y = 0] = (type === 1 ? geometry[0] : geometry[0]?.[0]) ?? []
  return x * 8_192 + y
}

const identityOf = ({ properties: { deviceId, id, h3, count } }: TileFeature): string =>
  String(id ?? h3 ?? deviceId ?? count)
