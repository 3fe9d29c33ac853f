import { z } from 'zod'
import { throwIfClosed } from '#core/errors'
import { readCoverage } from '#fleet-map/coverage/coverage'
import { listDeadZones } from '#fleet-map/coverage/dead-zones'
import { readForecast } from '#fleet-map/coverage/forecast'
import { listOperators } from '#fleet-map/coverage/operators'
import { readSignalTrend } from '#fleet-map/coverage/signal-trend'
import { thresholds } from '#fleet-map/coverage/thresholds'
import { listDwells } from '#fleet-map/dwells/dwells'
import { listTrips } from '#fleet-map/dwells/trips'
import { dwellFeature, maxPositions, tripFeature } from '#fleet-map/features/dwell-features'
import { gpsBody, gpsContentTypes } from '#fleet-map/gps/gps-formats'
import { type GpsCursor, type GpsQuery, openGps } from '#fleet-map/gps/gps-request'
import { readGps } from '#fleet-map/gps/map-data'
import { matchesNone } from '#http/etag'
import { acceptedFormat, notAcceptable } from '../../http/accepted-format.ts'
import { notModified } from '../../http/entity-tags.ts'
import { disconnect } from '../../http/outgoing.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { requestReader } from '../../http/request-reader.ts'
import { type Route, type RouteInput, route } from '../../http/route.ts'
import { hidden, planned } from './fleet-answers.ts'
import { coverageFile, fleetFileTypes, fleetFormats, pageOrFile } from './fleet-files.ts'
import { forecastRequest, forecastSchema } from './fleet-forecast-schemas.ts'
import {
  coverageQuery,
  deadZonesQuery,
  dwellsQuery,
  gpsQuery,
  operatorsQuery,
  signalTrendQuery,
  tripsQuery,
} from './fleet-query.ts'
import {
  coverageSchema,
  deadZonePageSchema,
  dwellPageSchema,
  gpsSchema,
  operatorsSchema,
  signalTrendSchema,
  thresholdsSchema,
  tripPageSchema,
} from './fleet-schemas.ts'
import { sharedResponse } from './shared-response.ts'

const tag = 'Fleet GPS'

const filesNote =
  'As CSV and Parquet, it has the columns of the collection in `/ogc`, and Parquet also GeoParquet’s column `geometry`. The connection closes before the end of the file if the caller loses its access during the download.'

/** A feature collection (RFC 7946) with the top-level members of the other formats. */
const featureCollection = z
  .looseObject({
    type: z.literal('FeatureCollection'),
    features: z.array(
      z
        .looseObject({
          type: z.literal('Feature'),
          geometry: z.looseObject({ type: z.string() }).nullable(),
          properties: z.record(z.string(), z.unknown()),
        })
        .meta({ id: 'FleetFeature' }),
    ),
  })
  .meta({ id: 'FleetFeatureCollection' })

/** A cursor is valid for this caller and these filters only. */
const boundTo = ({ ctx, query }: RouteInput<unknown, GpsQuery, unknown>) => {
  const { cursor: _cursor, ...filters } = query
  return [ctx.principal.id, '/fleet/gps', filters]
}

const gps = route({
  method: 'get',
  path: '/fleet/gps',
  operationId: 'getFleetGps',
  summary: 'Get device positions, signal, coverage and dwells',
  description:
    'Returns devices with their last usable fix, signal aligned with the position where it was measured, coverage by H3 cell, and dwells. With `since`, the response contains only changes. In GeoJSON, cells and trails are split at the antimeridian (RFC 7946, 3.1.9); the property `ts` of a trail has the time of each position, in one list for each part.',
  tag,
  access: 'fleet:read',
  query: gpsQuery,
  answers: {
    200: {
      description: 'Positions, coverage and dwells of the fleet.',
      schema: gpsSchema,
      alsoAs: { 'application/geo+json': featureCollection },
      headers: ['ETag'],
    },
    ...notModified,
    ...planned,
    ...hidden,
  },
  async handle(input) {
    const { ctx, services, query, http } = input
    const { cursors, fleetMaps } = services
    const position = query.cursor === undefined ? undefined : cursors.open(query.cursor, boundTo(input))
    const cursor = position === undefined ? undefined : (JSON.parse(position) as GpsCursor)
    const request = await openGps(ctx, query, cursor)
    const data = await readGps(ctx, fleetMaps, requestReader(input), request)
    const headers = new Headers({ ETag: data.etag, 'Cache-Control': 'private, no-cache', Vary: 'accept-encoding' })
    if (matchesNone(http.req.header('if-none-match'), data.etag)) return new Response(null, { status: 304, headers })
    throwIfClosed(http.req.raw.signal)
    const nextCursor = data.next && cursors.seal(JSON.stringify(data.next), boundTo(input))
    headers.set('Content-Type', gpsContentTypes[query.format])
    const key = `${data.etag} ${nextCursor && ctx.principal.id}`
    return sharedResponse(input, 'moment', key, headers, () => gpsBody(data, request, nextCursor))
  },
})

const stream = route({
  method: 'get',
  path: '/fleet/gps/stream',
  operationId: 'streamFleetGps',
  summary: 'Stream fleet GPS as server-sent events',
  description:
    'Sends a `snapshot` event with the response of `/fleet/gps`, then a `delta` event for each change. Event ids are `asOf` values: send `Last-Event-ID` to resume after a disconnect. A client can open 20 streams and an organization 100; more return 429 `too_many_streams`. The server disconnects clients that do not read for a minute.',
  tag,
  access: 'fleet:read',
  query: gpsQuery.safeExtend({ cursor: z.undefined().optional() }),
  answers: {
    200: { description: 'A stream of events.', schema: z.string(), contentType: 'text/event-stream' },
    ...planned,
    ...hidden,
  },
  async handle({ ctx, services, query, http, reauthenticate }) {
    const since = http.req.header('last-event-id') ?? query.since
    // Check for errors before the stream begins, the cheapest check first.
    services.fleetMaps.streams.checkRoom(ctx.principal)
    await openGps(ctx, { ...query, since })
    const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
    if (http.req.raw.method === 'HEAD') return new Response(null, { headers })
    const events = services.fleetMaps.streams.open({
      ctx,
      query: { ...query, since },
      stillAllowed: reauthenticate,
      disconnect: () => disconnect(http),
    })
    return new Response(events, { headers })
  },
})

const coverage = route({
  method: 'get',
  path: '/fleet/coverage',
  summary: 'Get signal coverage by cell',
  description: `${filesNote} \`byRat\` and \`byPlmn\` are left out. The geometry is the hexagon of the cell.`,
  tag,
  access: 'fleet:read',
  query: coverageQuery,
  answers: {
    200: { description: 'H3 cells with at least one vote.', schema: coverageSchema, alsoAs: fleetFileTypes },
    ...planned,
    ...hidden,
    ...notAcceptable,
  },
  async handle(input) {
    const { ctx, services, query, http } = input
    const format = acceptedFormat(http, query.format, fleetFormats)
    const { key, body } = await readCoverage(ctx, services.fleetMaps, requestReader(input), query)
    if (format !== 'json') return coverageFile(input, (await body()).items, format)
    const headers = new Headers({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
    headers.set('Vary', 'accept-encoding')
    return sharedResponse(input, 'list', `coverage ${key}`, headers, body)
  },
})

const dwells = route({
  method: 'get',
  path: '/fleet/dwells',
  summary: 'List dwells',
  description: `${filesNote} The geometry is the centre of the dwell.`,
  tag,
  access: 'fleet:read',
  query: dwellsQuery,
  answers: {
    200: { description: 'Dwells, newest arrival first.', schema: dwellPageSchema, alsoAs: fleetFileTypes },
    ...planned,
    ...hidden,
    ...notAcceptable,
  },
  async handle(input) {
    const { services, query } = input
    const reader = requestReader(input)
    return pageOrFile(input, {
      collection: 'dwells',
      featureOf: dwellFeature,
      read: (ctx, { limit, after }) =>
        reader.heavy(() => listDwells(ctx, services.fleetMaps, reader, { ...query, limit }, after)),
    })
  },
})

const trips = route({
  method: 'get',
  path: '/fleet/trips',
  summary: 'List trips',
  description:
    'A trip is the way of a device from a dwell to its next one. A gap of more than 15 minutes between fixes splits it into trips with `gap: true`. Without `from` and `to`, returns the trips of the last 24 hours. The window is that of the departure from a dwell. ' +
    `${filesNote} The geometry is a line with at most ${maxPositions} positions.`,
  tag,
  access: 'fleet:read',
  query: tripsQuery,
  answers: {
    200: { description: 'Trips, newest departure from a dwell first.', schema: tripPageSchema, alsoAs: fleetFileTypes },
    ...planned,
    ...hidden,
    ...notAcceptable,
  },
  async handle(input) {
    const { services, query } = input
    const reader = requestReader(input)
    return pageOrFile(input, {
      collection: 'trips',
      featureOf: tripFeature,
      read(ctx, { limit, after }, format) {
        const asked = { ...query, limit, ...(format === 'parquet' && { maxPositions }) }
        return reader.heavy(() => listTrips(ctx, services.fleetMaps, reader, asked, after))
      },
    })
  },
})

const deadZones = route({
  method: 'get',
  path: '/fleet/dead-zones',
  operationId: 'listDeadZones',
  summary: 'List dead zones',
  description:
    'A dead zone is a group of adjacent H3 cells at resolution 9. Each cell has at least 5 votes, and either less than 90 % of the moments (a device in a minute) have service or the median signal quality is `none`. `bbox` filters by the centre of a zone.',
  tag,
  access: 'fleet:read',
  query: deadZonesQuery,
  answers: {
    200: {
      description: 'Dead zones, longest time without service first.',
      schema: deadZonePageSchema,
      headers: ['Link'],
    },
    ...planned,
    ...hidden,
  },
  async handle(input) {
    const { after } = pageRequest(input)
    const { items, nextAfter, ...rest } = await listDeadZones(
      input.ctx,
      input.services.fleetMaps,
      requestReader(input),
      input.query,
      after,
    )
    const reply = pageReply(input, { items, nextAfter })
    return { ...reply, body: { ...rest, ...(reply.body as object) } }
  },
})

const signalTrend = route({
  method: 'get',
  path: '/fleet/signal-trend',
  summary: 'Get the signal over time and by operator',
  description:
    'Adds up the votes of coverage: one per device, modem, cell and minute, for samples with a position. Returns them by time and by operator, with the worst operator first.',
  tag,
  access: 'fleet:read',
  query: signalTrendQuery,
  answers: { 200: { description: 'The signal of the fleet.', schema: signalTrendSchema }, ...planned, ...hidden },
  handle: async (input) => ({
    status: 200,
    body: await readSignalTrend(input.ctx, input.services.fleetMaps, requestReader(input), input.query),
  }),
})

const operators = route({
  method: 'get',
  path: '/fleet/operators',
  summary: 'Rank the operators in an area',
  description:
    'Ranks operators by the share of their votes with service, then by their median RSRP. A vote without service counts for the operator that the modem lost. `h3`, `placeId` or `bbox` choose the area: cells of coverage with their centre inside count or, in an area that contains none, the cell around its middle. Without an area, all votes of the devices count.',
  tag,
  access: 'fleet:read',
  query: operatorsQuery,
  answers: { 200: { description: 'The operators, best first.', schema: operatorsSchema }, ...planned, ...hidden },
  handle: async (input) => ({
    status: 200,
    body: await listOperators(input.ctx, input.services.fleetMaps, requestReader(input), input.query),
  }),
})

const forecast = route({
  method: 'post',
  path: '/fleet/forecast',
  operationId: 'forecastRoute',
  summary: 'Forecast the signal along a route',
  description:
    'Blends the votes of the cells around each segment of the path, from H3 resolution 10 to 7. The request is a POST because a path can be too long for a URL. It does not change anything.',
  tag,
  access: 'fleet:read',
  body: forecastRequest,
  answers: {
    200: { description: 'Segments from the start to the end of the path.', schema: forecastSchema },
    ...planned,
    ...hidden,
  },
  handle: async (input) => ({
    status: 200,
    body: await readForecast(input.ctx, input.services.fleetMaps, requestReader(input), input.body),
  }),
})

const signalThresholds = route({
  method: 'get',
  path: '/signal-thresholds',
  summary: 'Get signal quality thresholds',
  tag,
  access: 'principal',
  query: z.strictObject({}),
  answers: { 200: { description: 'Thresholds and colours of the signal quality classes.', schema: thresholdsSchema } },
  handle: async () => ({ status: 200, body: thresholds }),
})

export const fleetRoutes: Route[] = [
  gps,
  stream,
  coverage,
  deadZones,
  signalTrend,
  operators,
  forecast,
  dwells,
  trips,
  signalThresholds,
]
