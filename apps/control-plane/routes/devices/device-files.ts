import { z } from 'zod'
import { uuid } from '#core/schemas'
import { openDeviceExport } from '#fleet/devices/export'
import { importDevices } from '#fleet/devices/import'
import { openListDetails } from '#fleet-map/device-list/list-details'
import { selectLive } from '#fleet-map/device-list/live-selection'
import { decodeTextFile } from '#http/body'
import { exportFormat } from '../../devices/export-rows.ts'
import { maxImportRows, readImportRows } from '../../devices/import-rows.ts'
import { guardedStream } from '../../http/guarded-stream.ts'
import { writeErrors } from '../../http/openapi-errors.ts'
import { requestReader } from '../../http/request-reader.ts'
import { type Route, route } from '../../http/route.ts'
import { dryRunQuery, flag } from '../../http/schemas.ts'
import { planned } from '../fleet/fleet-answers.ts'
import { listQuery } from './list-schemas.ts'

const tag = 'Devices'
const maxImportBytes = 8 * 1024 * 1024

const reportSchema = z
  .object({
    created: z.int(),
    updated: z.int().describe('With `existing=update`: rows whose device exists.'),
    results: z.array(
      z.object({
        index: z.int().describe('Index of the row, starting at 0.'),
        line: z.int().describe('The line of the file on which the row ends, starting at 1.'),
        status: z.enum(['created', 'updated', 'failed']),
        id: uuid().optional(),
        token: z.string().optional(),
        code: z.string().optional(),
        detail: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'DeviceImport' })

const importQuery = dryRunQuery.extend({
  orgId: uuid(),
  atomic: flag().default(false).describe('Creates either all devices or none.'),
  existing: z
    .enum(['fail', 'update'])
    .default('fail')
    .describe(
      'What happens to a row whose serial a device already has: it fails, or it changes the name, model, tags and notes of the device (needs `device:update`). Without a column `tags` or `notes`, the device keeps them.',
    ),
  tokens: flag().default(false).describe('Issues a token for each device. Tokens are returned only once.'),
})

/** These routes must come before `/devices/:id`, which would match `export` as an id. */
export const deviceFileRoutes: Route[] = [
  route({
    method: 'post',
    path: '/devices/import',
    summary: 'Import devices from a file',
    description: `Send CSV with the header \`serial,name,model,tags,notes\` (tags separated by \`;\`; tags and notes are optional) or NDJSON with one device per line, in UTF-8 or UTF-16, up to ${maxImportRows} rows and 8 MiB. Columns can also be separated by semicolons or tabs, and a tag with a semicolon is in quotes. Rows and last columns without content are skipped. Other columns of an exported file are ignored, so that you can edit and import it again. Invalid rows do not affect the other rows unless \`atomic\` is true.`,
    tag,
    access: 'device:create',
    query: importQuery,
    body: z.string(),
    bodyFormat: { mediaTypes: ['text/csv', 'application/x-ndjson'], decode: decodeTextFile },
    bodyLimitBytes: maxImportBytes,
    idempotent: ({ tokens, dryRun }) => (dryRun ? undefined : tokens ? 'secret' : 'replay'),
    answers: {
      200: { description: 'The result of each row.', schema: reportSchema },
      404: { description: 'The organization does not exist, or you cannot read it.' },
      422: {
        description:
          'With `atomic`, at least one row failed: see `results`. Or the Idempotency-Key was used for another request.',
      },
      ...writeErrors,
    },
    example: { body: 'serial,name,model,tags\nSN-0042,Bus 42,RX-500,bus;night\n' },
    line: ({ importLine }) => importLine,
    handle: async ({ ctx, query: { orgId: organizationId, ...options }, body, http }) => {
      const format = http.req.header('content-type')?.toLowerCase().startsWith('text/csv') ? 'csv' : 'ndjson'
      const rows = await readImportRows(body, format)
      return { status: 200, body: await importDevices(ctx, { organizationId, rows, ...options }) }
    },
  }),
  route({
    method: 'get',
    path: '/devices/export',
    summary: 'Export devices as a file',
    description:
      'Streams all devices that match the filters, newest first or in the requested order. With `include`, the file has more columns. The connection closes before the end of the file if the key or the session is revoked or loses its access during the download.',
    tag,
    access: 'device:read',
    query: z.strictObject({ format: z.enum(['csv', 'ndjson']).default('csv'), ...listQuery }),
    answers: {
      200: {
        description: 'The file, as `text/csv` or `application/x-ndjson`.',
        schema: z.string(),
        contentType: ['text/csv', 'application/x-ndjson'],
      },
      404: { description: 'The organization, the place or the group does not exist, or you cannot read it.' },
      ...planned,
    },
    handle: async (input) => {
      const { ctx, services, http, reauthenticate, query } = input
      const { format, sort, include, ...filter } = query
      const { mediaType, head, lines } = exportFormat(format, include ?? [])
      const reader = requestReader(input)
      const live = await selectLive(ctx, services.fleetMaps, reader, { orgId: filter.orgId, filter, sort })
      const withDetails = await openListDetails(ctx, services.fleetMaps, reader, { orgId: filter.orgId, include })
      const devices = await openDeviceExport(ctx, { filter, sort, live })
      let start: string = head
      const body = guardedStream(http, services, {
        check: async () => devices.check(await reauthenticate()),
        async next() {
          const page = await devices.next()
          const text = page && start + lines(await withDetails(page))
          start = ''
          return text
        },
      })
      return new Response(body, {
        headers: {
          'content-type': mediaType,
          'content-disposition': `attachment; filename="devices.${format}"`,
          'cache-control': 'no-store',
        },
      })
    },
  }),
]
