import { z } from 'zod'
import { throwIfClosed } from '#core/errors'
import { chunkedResponse } from '#http/chunked-body'
import { chooseCoding } from '#http/compression'
import { matchesNone } from '#http/etag'
import { jsonChunks } from '#http/json-chunks'
import { readCoverage } from '../fleet-map/coverage.ts'
import { listDeadZones } from '../fleet-map/dead-zones.ts'
import { listDwells } from '../fleet-map/dwells.ts'
import { readForecast } from '../fleet-map/forecast.ts'
import { forecastRequest, forecastSchema } from '../fleet-map/forecast-schemas.ts'
import { readGps } from '../fleet-map/gps.ts'
import { gpsBody, gpsContentTypes } from '../fleet-map/gps-formats.ts'
import { type GpsCursor, openGps } from '../fleet-map/gps-request.ts'
import { coverageQuery, deadZonesQuery, dwellsQuery, type GpsQuery, gpsQuery } from '../fleet-map/query.ts'
import {
  coverageSchema,
  deadZonePageSchema,
  dwellPageSchema,
  gpsSchema,
  thresholdsSchema,
} from '../fleet-map/schemas.ts'
import { thresholds } from '../fleet-map/thresholds.ts'
import { notModified } from '../http/entity-tags.ts'
import { disconnect } from '../http/outgoing.ts'
import { pageReply, pageRequest } from '../http/paging.ts'
import { requestReader } from '../http/request-reader.ts'
import { type Route, type RouteInput, route } from '../http/route.ts'

const tag = 'Fleet GPS'
const planned = { 403: { description: 'The scope is missing, or `plan_feature`: not part of the plan.' } }
const hidden = { 404: { description: 'No such organization or group for you.' } }

/** RFC 7946, with the members around the lists of the other formats. */
const featureCollection = z.looseObject({
  type: z.literal('FeatureCollection'),
  features: z.array(
    z.looseObject({
      type: z.literal('Feature'),
      geometry: z.looseObject({ type: z.string() }).nullable(),
      properties: z.record(z.string(), z.unknown()),
    }),
  ),
})

/** What a cursor is good for: this caller and these filters. */
const boundTo = ({ ctx, query }: RouteInput<unknown, GpsQuery, unknown>) => {
  const { cursor: _cursor, ...filters } = query
  return [ctx.principal.id, '/fleet/gps', filters]
}

const gps = route({
  method: 'get',
  path: '/fleet/gps',
  summary: 'Where devices are, how good their signal is, coverage and dwells',
  description:
    'Devices with their last usable fix, signal aligned with the position where it was measured, coverage by H3 cell, and dwells. `since` answers only what changed.',
  tag,
  access: 'fleet:read',
  query: gpsQuery,
  answers: {
    200: {
      description: 'The fleet',
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
    const picture = await readGps(ctx, fleetMaps, requestReader(input), request)
    const headers = new Headers({ ETag: picture.etag, 'Cache-Control': 'private, no-cache', Vary: 'accept-encoding' })
    if (matchesNone(http.req.header('if-none-match'), picture.etag)) return new Response(null, { status: 304, headers })
    throwIfClosed(http.req.raw.signal)
    const nextCursor = picture.next && cursors.seal(JSON.stringify(picture.next), boundTo(input))
    const key = `${picture.etag} ${nextCursor && ctx.principal.id}`
    const answer = fleetMaps.answers.share(key, ctx.principal.rateLimit.key, async function* () {
      yield* jsonChunks(await gpsBody(picture, request, nextCursor))
    })
    const coding = chooseCoding(http.req.header('accept-encoding'))
    headers.set('Content-Type', gpsContentTypes[query.format])
    if (coding) headers.set('Content-Encoding', coding)
    return chunkedResponse(await answer(coding), { headers })
  },
})

const stream = route({
  method: 'get',
  path: '/fleet/gps/stream',
  summary: 'Fleet GPS as server-sent events',
  description:
    'A `snapshot` event with the answer of `/fleet/gps`, then a `delta` whenever something changed; ids are `asOf`, so that `Last-Event-ID` goes on where a connection broke. A client may have 20 streams and an organization 100; further ones are answered 429 `too_many_streams`. A client that does not read for a minute is disconnected.',
  tag,
  access: 'fleet:read',
  query: gpsQuery.safeExtend({ cursor: z.undefined().optional() }),
  answers: {
    200: { description: 'Events', schema: z.string(), contentType: 'text/event-stream' },
    ...planned,
    ...hidden,
  },
  async handle({ ctx, services, query, http }) {
    const since = http.req.header('last-event-id') ?? query.since
    // Refusals are answered as such before the stream begins; the cheapest first.
    services.fleetMaps.streams.checkRoom(ctx.principal)
    await openGps(ctx, { ...query, since })
    const headers = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
    if (http.req.raw.method === 'HEAD') return new Response(null, { headers })
    const events = services.fleetMaps.streams.open({
      ctx,
      query: { ...query, since },
      stillAllowed: () => services.authenticator.authenticate(http.req.header('authorization')),
      disconnect: () => disconnect(http),
    })
    return new Response(events, { headers })
  },
})

const coverage = route({
  method: 'get',
  path: '/fleet/coverage',
  summary: 'How good the signal is, where',
  tag,
  access: 'fleet:read',
  query: coverageQuery,
  answers: { 200: { description: 'Cells with votes', schema: coverageSchema }, ...planned, ...hidden },
  handle: async (input) => ({
    status: 200,
    body: await readCoverage(input.ctx, input.services.fleetMaps, requestReader(input), input.query),
  }),
})

const dwells = route({
  method: 'get',
  path: '/fleet/dwells',
  summary: 'Where devices stood',
  tag,
  access: 'fleet:read',
  query: dwellsQuery,
  answers: { 200: { description: 'Newest arrival first', schema: dwellPageSchema }, ...planned, ...hidden },
  async handle(input) {
    const { after } = pageRequest(input)
    const { ctx, services, query } = input
    const reader = requestReader(input)
    return pageReply(input, await reader.heavy(() => listDwells(ctx, services.fleetMaps, reader, query, after)))
  },
})

const deadZones = route({
  method: 'get',
  path: '/fleet/dead-zones',
  summary: 'Where there is no usable service',
  description:
    'Neighbouring H3 cells of resolution 9 with at least 5 votes, in which less than 90 % of them have service or the median signal is of quality `none`, joined to zones. `bbox` looks at the centre of a zone.',
  tag,
  access: 'fleet:read',
  query: deadZonesQuery,
  answers: {
    200: { description: 'Longest without service first', schema: deadZonePageSchema, headers: ['Link'] },
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

const forecast = route({
  method: 'post',
  path: '/fleet/forecast',
  summary: 'What the signal will be like along a route',
  description:
    'The votes of the cells around each segment of the path, blended from H3 resolution 10 to 7. Changes nothing: it is a POST for the sake of the path.',
  tag,
  access: 'fleet:read',
  body: forecastRequest,
  answers: {
    200: { description: 'Segments from the start of the path to its end', schema: forecastSchema },
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
  summary: 'What the classes of signal quality mean',
  tag,
  access: 'principal',
  query: z.strictObject({}),
  answers: { 200: { description: 'Thresholds and colours for legends', schema: thresholdsSchema } },
  handle: async () => ({ status: 200, body: thresholds }),
})

export const fleetRoutes: Route[] = [gps, stream, coverage, deadZones, forecast, dwells, signalThresholds]
