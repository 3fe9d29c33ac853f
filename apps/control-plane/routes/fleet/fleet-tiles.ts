import type { Context } from 'hono'
import { throwIfClosed } from '#core/errors'
import { encodedTile } from '#fleet-map/tiles/encode'
import { readOverview, readTile } from '#fleet-map/tiles/read-tile'
import { tileJson } from '#fleet-map/tiles/tile-json'
import { openTiles } from '#fleet-map/tiles/tile-request'
import { chunkedResponse } from '#http/chunked-body'
import { chooseCoding } from '#http/compression'
import { matchesNone } from '#http/etag'
import { notModified } from '../../http/entity-tags.ts'
import { requestReader } from '../../http/request-reader.ts'
import { type Route, route } from '../../http/route.ts'
import type { Services } from '../../services.ts'
import { hidden, planned } from './fleet-answers.ts'
import { tilesQuery } from './fleet-query.ts'
import { tileBytesSchema, tileJsonSchema, tileParams } from './fleet-tiles-schemas.ts'

const tag = 'Fleet GPS'
const contentType = 'application/vnd.mapbox-vector-tile'
const omittedHeader = 'X-Layers-Omitted'
const codings = ['zstd', 'gzip'] as const

const tile = route({
  method: 'get',
  path: '/fleet/tiles/:z/:x/:y.mvt',
  operationId: 'getFleetTile',
  summary: 'Get a vector tile of the fleet',
  description:
    'Returns a Mapbox Vector Tile 2.1 (extent 4096) with the layers `devices`, `coverage` and `dwells`. From zoom 13 on, `devices` contains each device. At lower zooms, it contains one feature for each H3 cell: a single device, or a cluster with `count`, `online`, `offline` and `worstQuality`. Each device or cluster is in exactly one tile. `status` and `signal` apply to `devices`, `rat` and `plmn` to `devices` and `coverage`. A property without a value is left out. `X-Layers-Omitted` names layers that the plan does not include or that have too many items. `/fleet/tiles.json` lists all properties.',
  tag,
  access: 'fleet:read',
  params: tileParams,
  query: tilesQuery,
  answers: {
    200: {
      description: 'A vector tile.',
      schema: tileBytesSchema,
      contentType,
      headers: ['ETag', omittedHeader],
    },
    204: { description: 'The tile is empty.', headers: [omittedHeader] },
    ...notModified,
    ...planned,
    404: { description: 'The tile, the organization or the group does not exist, or you cannot read it.' },
  },
  async handle(input) {
    const { ctx, services, query, params, http } = input
    const { fleetMaps } = services
    const request = await openTiles(ctx, fleetMaps, query)
    const reader = requestReader(input)
    const content = await readTile({ ctx, fleet: fleetMaps, reader, request, tile: params })
    const headers = new Headers({ 'Cache-Control': 'private, no-cache', Vary: 'accept-encoding' })
    if (content.omitted.length > 0) headers.set(omittedHeader, content.omitted.join(','))
    if (content.isEmpty) return new Response(null, { status: 204, headers })
    headers.set('ETag', content.etag)
    if (matchesNone(http.req.header('if-none-match'), content.etag)) return new Response(null, { status: 304, headers })
    throwIfClosed(http.req.raw.signal)
    const { coding, chunks } = await encodedTile(fleetMaps.tiles.encoded, content, codingOf(http))
    headers.set('Content-Type', contentType)
    if (coding) headers.set('Content-Encoding', coding)
    return chunkedResponse(chunks, { headers })
  },
})

const codingOf = (http: Context) => chooseCoding(http.req.header('accept-encoding'), codings)

const json = route({
  method: 'get',
  path: '/fleet/tiles.json',
  operationId: 'getFleetTileJson',
  summary: 'Describe the vector tiles as TileJSON',
  description:
    'Returns TileJSON 3.0.0 for MapLibre, QGIS and other clients. The address of the tiles contains the query of this request. `window` is the time of the query within the history of the plan, and `fleet` describes the devices of the query. Requests for tiles need the same `Authorization` header.',
  tag,
  access: 'fleet:read',
  query: tilesQuery,
  answers: {
    200: { description: 'The description of the tiles.', schema: tileJsonSchema, headers: [omittedHeader] },
    ...planned,
    ...hidden,
  },
  example: {
    answer: tileJson('https://routerfleet.example.com/fleet/tiles/{z}/{x}/{y}.mvt?sinceMinutes=60', ['devices'], {
      window: { from: '2026-03-02T11:00:00.000Z', to: '2026-03-02T12:05:00.000Z', limitedBy: null },
      fleet: {
        devices: 1_200,
        bounds: [5.9, 47.3, 15, 54.9],
        operators: [{ plmn: '26201', name: 'Telekom' }],
      },
    }),
  },
  async handle(input) {
    const { ctx, services, query, http } = input
    const { fleetMaps } = services
    const request = await openTiles(ctx, fleetMaps, query)
    const { layers, omitted, window } = request
    const fleet = layers.includes('devices')
      ? await readOverview({ ctx, fleet: fleetMaps, reader: requestReader(input), request })
      : null
    return {
      status: 200,
      body: tileJson(tilesUrl(services, new URL(http.req.url)), layers, { window, fleet }),
      headers: {
        'Cache-Control': 'private, no-cache',
        ...(omitted.length > 0 && { [omittedHeader]: omitted.join(',') }),
      },
    }
  },
})

const tilesUrl = ({ publicBaseUrl }: Services, { search }: URL): string =>
  `${publicBaseUrl.replace(/\/$/, '')}/fleet/tiles/{z}/{x}/{y}.mvt${search}`

export const fleetTileRoutes: Route[] = [tile, json]
