import { z } from 'zod'
import { instantOut } from '#core/schemas'
import { eventKinds, listDeviceEvents } from '#reads/device-events'
import { pageReply, pageRequest } from '../../http/paging.ts'
import { requestReader } from '../../http/request-reader.ts'
import { type Route, route } from '../../http/route.ts'
import { pageOf, pageQuery, repeatable } from '../../http/schemas.ts'
import { deviceParams } from './device-schemas.ts'

const eventSchema = z
  .object({
    id: z.string().describe('Unique among the events of the device.'),
    at: instantOut(),
    kind: z.enum(eventKinds),
    action: z
      .string()
      .describe(
        'What happened: the action of the audit record, the status of the job, `opened`, `rebooted`, `cell_changed`, `fault_reported` and so on.',
      ),
    by: z
      .string()
      .nullable()
      .describe('`key:…`, `person:…`, `user:…`, `device:…` or `system`; null for what the device measured.'),
    byName: z.string().nullable().describe('The name of the person, user or API key.'),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'DeviceEvent' })

export const deviceEventRoutes: Route[] = [
  route({
    method: 'get',
    path: '/devices/:id/events',
    summary: 'List what happened to a device',
    description:
      'One stream of status changes (`status`), requests of callers (`change`, needs `audit:read`), jobs (`job`, `job:read`), alerts (`alert`, `alert:read`), and what telemetry shows (`telemetry:read`): reboots, handovers (changes of cell, operator, technology and service of a modem, whose name is `detail.modem` if the router names its modems), faults, and one `report` event per UTC hour with the number of samples. `omitted` lists the kinds that you cannot read. A page can have fewer events than `limit`; the stream ends when `nextCursor` is null.',
    tag: 'Devices',
    access: 'device:read',
    params: deviceParams,
    query: z.strictObject({
      kind: repeatable(z.enum(eventKinds)).optional().describe('Can be repeated. By default, all kinds.'),
      ...pageQuery,
    }),
    answers: {
      200: {
        description: 'Events, newest first.',
        schema: pageOf(eventSchema).extend({ omitted: z.array(z.enum(eventKinds)) }),
      },
    },
    example: {
      answer: {
        items: [
          {
            id: '1777897800000:reboot:rebooted',
            at: '2026-05-04T12:30:00.000Z',
            kind: 'reboot',
            action: 'rebooted',
            by: null,
            byName: null,
            detail: { uptimeS: 42, reason: 'request' },
          },
        ],
        nextCursor: null,
        omitted: [],
      },
    },
    handle: async (input) => {
      const { omitted, ...page } = await listDeviceEvents(input.ctx, requestReader(input), {
        deviceId: input.params.id,
        kinds: input.query.kind ?? eventKinds,
        page: pageRequest(input),
      })
      const reply = pageReply(input, page)
      return { ...reply, body: { ...(reply.body as object), omitted } }
    },
  }),
]
