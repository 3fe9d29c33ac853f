import { z } from 'zod'
import { adapterOf } from '#adapters/adapters'
import type { SourceName } from '#adapters/source-names'
import { pascalCase } from '../../http/openapi-names.ts'
import { type Route, route } from '../../http/route.ts'
import { forwardToDeviceEdge } from './device-edge.ts'

const accepted = 'The accepted samples are stored durably.'

const refusals = {
  400: {
    description:
      'The report cannot be read, or no field of it was understood (`nothing_understood`): the message names what was not. Nothing was stored.',
  },
  402: { description: 'The organization’s subscription ended more than 30 days ago.' },
  403: { description: 'The device is disabled.' },
}

type AdapterRoute = Pick<Route, 'summary' | 'description' | 'passedQuery' | 'answers' | 'example' | 'errorForm'> & {
  source: SourceName
  body: z.ZodType
  mediaTypes: readonly string[]
}

const adapterRoute = ({ source, body, mediaTypes, answers, ...described }: AdapterRoute): Route => {
  const adapter = adapterOf(source)
  return route({
    ...described,
    method: 'post',
    path: adapter.path,
    operationId: `report${pascalCase(source)}Telemetry`,
    tag: 'Adapters',
    access: 'device',
    adapter,
    passedBody: { mediaTypes, schema: body },
    answers: { ...refusals, ...answers },
    handle: forwardToDeviceEdge,
  })
}

const json = 'application/json'
const text = 'text/plain'

const outcome = z
  .object({
    accepted: z.int(),
    rejected: z.array(z.object({ index: z.int(), code: z.string(), detail: z.string() })),
    dropped: z.int().describe('Values that have no field or cannot be converted.'),
  })
  .meta({ id: 'AdapterOutcome' })
const teltonikaRecord = z.record(z.string(), z.unknown()).meta({ id: 'TeltonikaRecord' })
const protobuf = 'application/x-protobuf'

/** The routes for routers and tools that speak another protocol. The device edge handles them. */
export const adapterRoutes: Route[] = [
  adapterRoute({
    source: 'openwisp',
    summary: 'Report telemetry as the OpenWISP monitoring agent does',
    description:
      'NetJSON DeviceMonitoring. Members that have no field are dropped and counted. `docs/adapters.md` has the mapping.',
    mediaTypes: [json],
    passedQuery: z.object({
      key: z.string().optional().describe('The device token, unless it is in the `Authorization` header.'),
      time: z.string().optional().describe('When the report was taken: DD-MM-YYYY_HH:MM:SS.ffffff in UTC.'),
      current: z.string().optional().describe('`true` if the report was not buffered.'),
    }),
    body: z.looseObject({ type: z.literal('DeviceMonitoring') }),
    errorForm: { contentType: json, schema: z.object({ detail: z.string() }).meta({ id: 'OpenwispError' }) },
    answers: {
      200: { description: accepted, schema: z.null() },
      404: {
        description: 'The token belongs to another device, or a gateway’s key opens no such device (`device_unknown`).',
      },
    },
    example: {
      body: {
        type: 'DeviceMonitoring',
        interfaces: [{ name: 'wwan0', mobile: { operator_code: '50502', signal: { lte: { rsrp: -75, snr: 13 } } } }],
      },
      answer: null,
    },
  }),
  adapterRoute({
    source: 'influx',
    summary: 'Write telemetry as to InfluxDB v2',
    description:
      'Line protocol. The measurement is the kind of telemetry; fields and tags have the names of telemetry fields, and others are dropped and counted. Send the device token as `Authorization: Token fld_…`. Errors have the form of InfluxDB; after a partial write, all valid points are stored.',
    mediaTypes: ['text/plain'],
    passedQuery: z.object({
      precision: z.enum(['ns', 'us', 'ms', 's']).default('ns').describe('The unit of timestamps.'),
      org: z.string().optional().describe('Ignored.'),
      bucket: z.string().optional().describe('Ignored.'),
    }),
    body: z.string(),
    errorForm: {
      contentType: json,
      schema: z.object({ code: z.string(), message: z.string() }).meta({ id: 'InfluxError' }),
    },
    answers: {
      204: { description: accepted },
      400: {
        description:
          'Some or all lines are not line protocol, and all other points are stored; or no field of the request was understood.',
      },
      422: { description: 'Some or all points cannot be stored. All other points are stored.' },
    },
    example: { body: 'cellular,rat=lte rsrpDbm=-97,sinrDb=8.5 1777897800000000000' },
  }),
  adapterRoute({
    source: 'teltonika',
    summary: 'Report telemetry as RUTOS "Data to Server" does',
    description:
      'A record, a list of records, or either of them in `data`. Members that have no field are dropped and counted. `docs/adapters.md` has the mapping.',
    mediaTypes: [json],
    body: z.union([teltonikaRecord, z.array(teltonikaRecord)]),
    answers: {
      200: {
        description: accepted,
        schema: outcome,
      },
    },
    example: {
      body: { ntype: 'LTE', rsrp: -102, sinr: 8, state: 'Connected', gps: { latitude: 54.68, longitude: 25.28 } },
      answer: { accepted: 3, rejected: [], dropped: 0 },
    },
  }),
  adapterRoute({
    source: 'otlp',
    summary: 'Export metrics with OTLP',
    description:
      'An `ExportMetricsServiceRequest` in protobuf or JSON. Gauges and cumulative sums are named after telemetry fields, such as `cellular.rsrpDbm`; text fields are attributes of data points. Other metrics are rejected in `partialSuccess`. Errors are a `google.rpc.Status`.',
    mediaTypes: [json, protobuf],
    body: z.looseObject({ resourceMetrics: z.array(z.looseObject({})).optional() }),
    errorForm: {
      contentType: [json, protobuf],
      schema: z.object({ code: z.int(), message: z.string() }).meta({ id: 'OtlpStatus' }),
    },
    answers: {
      200: {
        description: 'The accepted data points are stored durably. `partialSuccess` is present if some were rejected.',
        contentType: [json, protobuf],
        schema: z.object({
          partialSuccess: z.object({ rejectedDataPoints: z.string(), errorMessage: z.string() }).optional(),
        }),
      },
    },
    example: {
      body: {
        resourceMetrics: [
          {
            scopeMetrics: [
              {
                metrics: [
                  {
                    name: 'cellular.rsrpDbm',
                    gauge: { dataPoints: [{ asDouble: -97, timeUnixNano: '1777897800000000000' }] },
                  },
                ],
              },
            ],
          },
        ],
      },
      answer: {},
    },
  }),
  adapterRoute({
    source: 'modemmanager',
    summary: 'Report the output of ModemManager',
    description: 'The JSON that `mmcli -J` prints, with `--signal-get`, `--location-get` or neither.',
    mediaTypes: [json],
    body: z.looseObject({ modem: z.record(z.string(), z.unknown()) }),
    answers: { 200: { description: accepted, schema: outcome } },
    example: {
      body: { modem: { signal: { lte: { rsrp: '-92.00', rsrq: '-9.00', snr: '19.20' } } } },
      answer: { accepted: 1, rejected: [], dropped: 0 },
    },
  }),
  adapterRoute({
    source: 'inhand',
    summary: 'Report telemetry as InHand gateways publish it',
    description: 'A message of FlexAPI: a flat object with names such as `gnss.latitude`.',
    mediaTypes: [json],
    body: z.record(z.string(), z.unknown()),
    answers: { 200: { description: accepted, schema: outcome } },
    example: {
      body: { 'gnss.ts': 1777897800, 'gnss.latitude': 30.587509, 'gnss.longitude': 104.05365, 'gnss.hdop': 1.1 },
      answer: { accepted: 1, rejected: [], dropped: 0 },
    },
  }),
  adapterRoute({
    source: 'cradlepoint',
    summary: 'Report telemetry as Cradlepoint routers do',
    description: 'Lines of the GPS client, or the diagnostics of a modem as JSON.',
    mediaTypes: [text, json],
    body: z.string(),
    answers: { 200: { description: accepted, schema: outcome } },
    example: {
      body: '352099001761481,162658,4333.62404,N,11636.23469,W,0.0,277.2,Verizon,LTE,-107,-74,-16,,100.68.169.178',
      answer: { accepted: 3, rejected: [], dropped: 0 },
    },
  }),
  adapterRoute({
    source: 'nmea',
    summary: 'Report NMEA 0183 sentences',
    description: 'One sentence a line, with its checksum. The sentences of one time become one position.',
    mediaTypes: [text],
    body: z.string(),
    answers: { 200: { description: accepted, schema: outcome } },
    example: {
      body: '$GPRMC,123519.00,A,4807.038,N,01131.000,E,022.4,084.4,040526,,,A*58',
      answer: { accepted: 1, rejected: [], dropped: 0 },
    },
  }),
  adapterRoute({
    source: 'gpsd',
    summary: 'Report the objects of gpsd',
    description: 'One object a line, as gpsd sends them to its clients. TPV and SKY are read.',
    mediaTypes: [text, 'application/x-ndjson'],
    body: z.string(),
    answers: { 200: { description: accepted, schema: outcome } },
    example: {
      body: '{"class":"TPV","mode":3,"time":"2026-05-04T12:30:00.000Z","lat":50.074,"lon":14.466,"eph":9.5}',
      answer: { accepted: 1, rejected: [], dropped: 0 },
    },
  }),
]
