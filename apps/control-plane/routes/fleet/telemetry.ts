import { z } from 'zod'
import { notFound } from '#core/errors'
import { nearSchema } from '#core/near'
import { instantOut, numberIn } from '#core/schemas'
import { readDeviceDataUse } from '#reads/data-use'
import { type HistoryCursor, openHistory, type ReadWindow } from '#reads/history'
import { readLatest } from '#reads/latest'
import { readOutages } from '#reads/outages'
import { qualities } from '#telemetry/coverage/quality'
import { type Kind, kinds } from '#telemetry/report/fields'
import { alignments } from '#telemetry/report/rows'
import { recordFieldsSchema } from '#telemetry/report/schemas'
import { acceptedFormat, notAcceptable, parquetType } from '../../http/accepted-format.ts'
import { fileResponse, fileTypes } from '../../http/file-response.ts'
import { requestReader, sharedReader } from '../../http/request-reader.ts'
import { type Route, type RouteInput, route } from '../../http/route.ts'
import { fileFormat, instantIn, parquetOut } from '../../http/schemas.ts'
import { historyFile } from './history-file.ts'

const params = z.object({
  modelSegment: z.string().meta({ description: 'The router model this installation serves.', example: 'router' }),
  deviceId: z.string().meta({ format: 'uuid' }),
})
type Params = z.infer<typeof params>

const hidden = { 404: { description: 'The device does not exist, or you cannot read it.' } }

const cellularExtras = {
  alignment: z
    .enum(alignments)
    .nullable()
    .describe(
      'How the position of the sample was determined. `interpolated`: between two fixes. If the fixes are up to 40 s apart, the position is on a curve that follows their speeds and headings; otherwise, it is on a straight line.',
    ),
  alignErrorM: z.number().nullable().describe('Estimated error of the position in metres.'),
  // In a report, the field is at most a day. The fixes of a dwell can be older.
  fixAgeMs: z.number().nullable().describe('Time from the older fix used to the sample, in ms.'),
  quality: z.enum(qualities).nullable(),
  qualityBasis: z.string().nullable(),
}
const extras: Record<Kind, Record<string, z.ZodType>> = {
  connection: {},
  cellular: cellularExtras,
  location: { usable: z.boolean() },
  system: {},
}

const recordSchema = (kind: Kind, members: Record<string, z.ZodType>) =>
  z.object({ ...members, tsCorrected: z.boolean(), ...recordFieldsSchema(kind).shape, ...extras[kind] })

const snapshotOf = (kind: Kind) =>
  recordSchema(kind, {
    ts: instantOut(),
    ageMs: z.number(),
    receivedAt: instantOut(),
    completedFrom: instantOut()
      .nullable()
      .describe(
        'Time of the oldest sample that gave a field. A field that the newest sample lacks is taken from samples up to two minutes older, but not from another RAT, PLMN or cell. Null if the newest sample gave all fields.',
      ),
  }).nullable()

const latestSchema = z
  .object({
    deviceId: z.string(),
    asOf: instantOut(),
    connection: snapshotOf('connection').describe('Of the active modem.'),
    cellular: snapshotOf('cellular').describe('Of the active modem.'),
    system: snapshotOf('system'),
    location: snapshotOf('location').describe('The newest usable fix.'),
    modems: z
      .array(
        z.object({
          modem: z.string().nullable().describe('Null for a router that does not name its modem.'),
          isActive: z.boolean(),
          cellular: snapshotOf('cellular'),
          connection: snapshotOf('connection'),
        }),
      )
      .describe(
        'The modems that reported in the last 24 hours, by name. The active one was connected last, if that was in the last 15 minutes; otherwise it had service last.',
      ),
  })
  .meta({ id: 'LatestTelemetry' })

const statistics = z.object({ min: z.number(), mean: z.number(), max: z.number() })
const itemSchema = z.union([
  ...kinds.map((kind) => recordSchema(kind, { ts: instantOut(), kind: z.literal(kind) })),
  z
    .object({ ts: instantOut(), kind: z.enum(kinds), samples: z.int(), fields: z.record(z.string(), statistics) })
    .describe('With `stepSeconds`: the statistics of one kind in one step. `ts` is the start of the step.'),
])

const windowSchema = z.object({
  from: instantOut(),
  to: instantOut(),
  requestedMinutes: z.int(),
  limitedBy: z.literal('plan').nullable(),
})
const windowView = ({ fromMs, toMs, requestedMinutes, limitedBy }: ReadWindow) => ({
  ...{ from: new Date(fromMs), to: new Date(toMs), requestedMinutes, limitedBy },
})

const historySchema = z
  .object({
    deviceId: z.string(),
    window: windowSchema,
    items: z.array(itemSchema),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'TelemetryHistory' })

const dataUseSchema = z
  .object({
    deviceId: z.string(),
    window: windowSchema,
    items: z
      .array(
        z.object({
          modem: z.string().nullable().describe('Null for a router that does not name its modem.'),
          interface: z.string().nullable(),
          rxBytes: z.number().nullable().describe('Received bytes. Null if the router did not send this counter.'),
          txBytes: z.number().nullable().describe('Sent bytes. Null if the router did not send this counter.'),
        }),
      )
      .describe('The modems and interfaces whose counters the router sent, by name.'),
  })
  .meta({ id: 'DeviceDataUse' })

const outageTimes = {
  from: instantOut(),
  to: instantOut().describe('The first sample with service, or the last one before a silence of five minutes.'),
  durationS: z.int(),
}

const outagesSchema = z
  .object({
    deviceId: z.string(),
    window: windowSchema,
    items: z
      .array(
        z.object({
          modem: z.string().nullable().describe('Null for a router that does not name its modem.'),
          ...outageTimes,
          location: z
            .object({ lat: z.number(), lon: z.number() })
            .nullable()
            .describe('The last known position where it began; null if none is known.'),
          near: nearSchema,
        }),
      )
      .describe('Newest first, at most the newest 1,000.'),
    ofDevice: z
      .array(z.object(outageTimes))
      .describe(
        'The times in which no modem of the device had service, newest first, at most the newest 1,000. A modem that did not report in a time does not count. The parameter `modem` does not change them.',
      ),
  })
  .meta({ id: 'DeviceOutages' })

const maxMinutes = 129_600
const maxItems = 10_000
const defaultItems = 1_000

const windowQuery = (defaultMinutes: number) => ({
  sinceMinutes: numberIn(z.number().int().min(1).max(maxMinutes))
    .optional()
    .describe(`Length of the window in minutes; ${defaultMinutes} by default.`),
  from: instantIn().optional().describe('Start of the window, inclusive. Replaces `sinceMinutes`.'),
  to: instantIn()
    .optional()
    .describe('End of the window, exclusive. By default 5 minutes in the future, because device clocks can be fast.'),
})

const modemIn = z.string().min(1).max(64).optional()

const historyQuery = z.strictObject({
  ...windowQuery(60),
  kind: z.enum(kinds).optional(),
  modem: modemIn.describe('Only samples of this modem, of the kinds `cellular` and `connection`.'),
  limit: numberIn(z.number().int().min(1).max(maxItems))
    .optional()
    .describe('Maximum number of items. By default 1000 for JSON and unlimited for files.'),
  stepSeconds: numberIn(z.number().int().min(1).max(86_400))
    .optional()
    .describe(
      'Returns minimum, mean and maximum for each step of this length. Positions, headings and channel numbers are left out.',
    ),
  cursor: z.string().min(1).max(2_000).optional(),
  format: fileFormat(['json', 'csv', 'ndjson', 'parquet']),
})
type HistoryQuery = z.infer<typeof historyQuery>

function requireModel({ params: { modelSegment }, services }: RouteInput<Params, unknown, unknown>): void {
  if (modelSegment !== services.routerModelSegment) throw notFound('path')
}

/** What a cursor is good for: this caller, device and filters, on pages of any size. */
const boundTo = ({ ctx, query, http }: RouteInput<Params, HistoryQuery, unknown>) => {
  const { cursor: _cursor, limit: _limit, format: _format, ...filters } = query
  return [ctx.principal.id, http.req.path, filters]
}

const latest = route({
  method: 'get',
  path: '/api/:modelSegment/:deviceId/telemetry/latest',
  operationId: 'getLatestTelemetry',
  summary: 'Get the latest telemetry of a device',
  description:
    'Returns the newest sample of each kind by sample time. IMSI, ICCID and WAN address are masked unless you hold `device:sensitive`.',
  tag: 'Telemetry',
  access: 'telemetry:read',
  params,
  query: z.strictObject({}),
  answers: {
    200: {
      description: 'The newest samples; null for kinds that the device has never reported.',
      schema: latestSchema,
    },
    ...hidden,
  },
  async handle(input) {
    requireModel(input)
    return { status: 200, body: await readLatest(input.ctx, sharedReader(input), input.params.deviceId) }
  },
})

const history = route({
  method: 'get',
  path: '/api/:modelSegment/:deviceId/telemetry/history',
  operationId: 'getTelemetryHistory',
  summary: 'Get the telemetry history of a device',
  description:
    'Items are sorted by time, newest first, then by kind. If the plan limits the window, `window.limitedBy` is `plan`. CSV, NDJSON and Parquet are streamed; the connection closes before the end if the key or the session is revoked or the device is deleted during the download. Parquet has the columns of CSV and, if they have positions, GeoParquet’s column `geometry`.',
  tag: 'Telemetry',
  access: 'telemetry:read',
  params,
  query: historyQuery,
  answers: {
    200: {
      description: 'A page of items, or a CSV, NDJSON or Parquet file.',
      schema: historySchema,
      alsoAs: { 'text/csv': z.string(), 'application/x-ndjson': z.string(), [parquetType]: parquetOut },
    },
    ...hidden,
    ...notAcceptable,
  },
  async handle(input) {
    requireModel(input)
    const { ctx, services, query, params, http, reauthenticate } = input
    const format = acceptedFormat(http, query.format, { json: 'application/json', ...fileTypes })
    const cursor = query.cursor === undefined ? undefined : services.cursors.open(query.cursor, boundTo(input))
    const position = cursor === undefined ? undefined : (JSON.parse(cursor) as HistoryCursor)
    const reader = requestReader(input)
    const found = await openHistory(ctx, reader, params.deviceId, query, position)
    if (format !== 'json') {
      const reopen = async () =>
        openHistory({ ...ctx, principal: await reauthenticate() }, reader, params.deviceId, query, found)
      const start = { limit: query.limit, after: position?.after }
      const file = historyFile(found, query, format, start, reopen)
      return fileResponse(input, file, `history-${found.deviceId}`, format)
    }
    const { items, next } = await found.page(query.limit ?? defaultItems, position?.after)
    const nextCursor = next && services.cursors.seal(JSON.stringify(next), boundTo(input))
    return {
      status: 200,
      body: { deviceId: found.deviceId, window: windowView(found.window), items, nextCursor },
      headers: nextCursor ? nextLink(input.http.req.url, nextCursor) : {},
    }
  },
})

const dataUse = route({
  method: 'get',
  path: '/api/:modelSegment/:deviceId/telemetry/data-use',
  operationId: 'getDataUse',
  summary: 'Get the data use of a device',
  description:
    'Returns what each modem and interface received and sent in the window, from the counters in `connection` samples. A counter that falls has wrapped at 2^32 if that explains it with less than 2^31 bytes; otherwise it has started again from 0. The first sample of the window counts from the sample before, if that is at most an hour older.',
  tag: 'Telemetry',
  access: 'telemetry:read',
  params,
  query: z.strictObject(windowQuery(1_440)),
  answers: { 200: { description: 'The data use.', schema: dataUseSchema }, ...hidden },
  async handle(input) {
    requireModel(input)
    const { window, ...found } = await readDeviceDataUse(
      input.ctx,
      requestReader(input),
      input.params.deviceId,
      input.query,
    )
    return { status: 200, body: { ...found, window: windowView(window) } }
  },
})

const outages = route({
  method: 'get',
  path: '/api/:modelSegment/:deviceId/telemetry/outages',
  operationId: 'getOutages',
  summary: 'Get the times without service of a device',
  description:
    'Returns when each modem had no service in the window, for how long, and near which town that began, and when the device had none with any of its modems. A time counts if at least two samples in a row lie in it, no more than five minutes apart.',
  tag: 'Telemetry',
  access: 'telemetry:read',
  params,
  query: z.strictObject({ ...windowQuery(1_440), modem: modemIn.describe('Only this modem.') }),
  answers: { 200: { description: 'The times without service.', schema: outagesSchema }, ...hidden },
  async handle(input) {
    requireModel(input)
    const { ctx, services, params, query } = input
    const reader = requestReader(input)
    const { window, ...found } = await readOutages(ctx, reader, services.fleetMaps.towns, params.deviceId, query)
    return { status: 200, body: { ...found, window: windowView(window) } }
  },
})

function nextLink(address: string, cursor: string): Record<string, string> {
  const url = new URL(address)
  url.searchParams.set('cursor', cursor)
  return { Link: `<${url.pathname}${url.search}>; rel="next"` }
}

export const telemetryRoutes: Route[] = [latest, history, dataUse, outages]
