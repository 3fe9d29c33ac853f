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
import type { PastMaps } from '#fleet-map/tiles/past-maps'
import type { IndexedMap } from '#fleet-map/tiles/placed-devices'
import type { TileContent, TileFeature, TileLayerName, TileLayers } from '#fleet-map/tiles/tile-feature'
import type { Tile } from '#fleet-map/tiles/tile-math'
import type { TileRequest } from '#fleet-map/tiles/tile-request'
import type { TileSources } from '#fleet-map/tiles/tile-sources'
import type { Reader } from '#questdb/copies/readers'
import { resolutionForZoom } from '#questdb/votes/coverage-resolution'

type TileMaps = { live: LiveMaps; past: PastMaps; coverage: CoverageLists; dwells: DwellLists; tiles: TileSources }
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
    const { index, nowMs } = await openIndex({ ctx, fleet, reader, request })
    return deviceFeatures(index, tile, nowMs)
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

/** Reads what a map must know of all devices of a request before it draws the first tile; null if they are too many. */
export async function readOverview(sources: Omit<Sources, 'tile'>): Promise<FleetOverview | null> {
  const overview = openIndex(sources).then(({ index, nowMs }) => index.overview(nowMs))
  return (await unlessTooLarge(overview)) ?? null
}

/** An index of devices, and the time for which it is read. */
type OpenedIndex = { index: DeviceIndex; nowMs: number }

async function openIndex(sources: Omit<Sources, 'tile'>): Promise<OpenedIndex> {
  const { ctx, fleet, reader, request } = sources
  const { groupId, tag, rat, plmn, signal, status } = request.query
  const untilMs = request.past?.toMs
  const filter = { groupId, untilMs, members: request.members, tags: tag, rat, plmn, signal, status }
  const maps = await (request.past ? pastMaps(sources) : liveMaps(sources))
  const index = fleet.tiles.indexes.open(maps, filter, (work) => reader.detached().heavy(work))
  return { index, nowMs: untilMs ?? ctx.clock() }
}

const liveMaps = ({ ctx, fleet, reader, request }: Omit<Sources, 'tile'>): Promise<IndexedMap[]> =>
  Promise.all(
    request.organizations.map(async ({ organizationId, windowMs }) => ({
      map: await fleet.live.read(organizationId, ctx.clock() - windowMs, reader),
      windowMs,
    })),
  )

/** The maps of a range in the past, as far as the plan of each organization reaches back. */
const pastMaps = ({ fleet, reader, request }: Omit<Sources, 'tile'>): Promise<IndexedMap[]> =>
  Promise.all(
    request.dwelt
      .flatMap(({ organizationId, past }) => (past && past.fromMs < past.toMs ? { organizationId, past } : []))
      .map(async ({ organizationId, past }) => ({
        map: await fleet.past.read(organizationId, past, reader),
        windowMs: past.toMs - past.fromMs,
      })),
  )

const sizeErrors = ['too_many_cells', 'too_many_dwells', 'too_many_devices']

/** Undefined if the layer has more items than one response may have. A map must not stay empty because of one layer. */
async function unlessTooLarge<Part>(part: Promise<Part>): Promise<Part | undefined> {
  try {
    return await part
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
