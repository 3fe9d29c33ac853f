import { z } from 'zod'
import { notFound } from '#core/errors'
import type { Principal } from '#fleet/access/principal'
import type { FleetContext } from '#fleet/context'
import type { Page, PageRequest } from '#fleet/paging'
import { mappedOrganizations } from '#fleet-map/access'
import { coverageFeature } from '#fleet-map/features/coverage-features'
import { featureProperties } from '#fleet-map/features/properties'
import type { DatedCoverageCell } from '#questdb/votes/coverage-cells'
import { acceptedFormat, parquetType } from '../../http/accepted-format.ts'
import { fileResponse, fileTypes } from '../../http/file-response.ts'
import { pageReply, pageRequest } from '../../http/paging.ts'
import type { Reply, RouteInput } from '../../http/route.ts'
import { defaultItems, parquetOut } from '../../http/schemas.ts'
import type { FileColumn, FileColumnType, FileTable, Geometry, PlacedRow, Row } from '../../tables/table.ts'
import { type TableFormat, tableFile } from '../../tables/table-file.ts'

/** What `/ogc` serves as a collection, `/fleet` serves as a file with the same columns. */
type Collection = 'dwells' | 'trips' | 'coverage'
type MapFeature = { geometry: unknown; properties: Record<string, unknown> }

const { ndjson: _ndjson, ...tableTypes } = fileTypes
export const fleetFormats = { json: 'application/json', ...tableTypes }

/** The documented media types of a file. */
export const fleetFileTypes = { 'text/csv': z.string(), [parquetType]: parquetOut }

const columnTypes = { string: 'text', 'date-time': 'time' } as const
const typeOf = (type: string): FileColumnType =>
  columnTypes[type as keyof typeof columnTypes] ?? (type as FileColumnType)

/** The properties of the features of a collection. Each row is of the same kind of feature. */
const columnsOf = (collection: Collection): FileColumn[] =>
  Object.entries(featureProperties[collection])
    .filter(([name]) => name !== 'feature')
    .map(([name, type]) => ({ name, type: typeOf(type) }))

const rowOf = ({ geometry, properties }: MapFeature): PlacedRow => ({
  row: properties as Row,
  geometry: geometry as Geometry | null,
})

type FleetQuery = { orgId?: string | undefined; format?: keyof typeof fleetFormats | undefined }
type Input<Query> = RouteInput<unknown, FleetQuery & Query, unknown>

// Each item of a page costs several reads.
const itemsAtOnce = 200

type List<Item> = {
  collection: Exclude<Collection, 'coverage'>
  /** The next page for a caller. */
  read(ctx: FleetContext, page: PageRequest, format: keyof typeof fleetFormats): Promise<Page<Item>>
  featureOf(item: Item): MapFeature
}

/** A page of a list as JSON; as a file, the whole list from the cursor on, or at most `limit` items. */
export async function pageOrFile<Item>(
  input: Input<{ cursor?: string | undefined; limit?: number | undefined }>,
  { collection, read, featureOf }: List<Item>,
): Promise<Reply | Response> {
  const { ctx, http, query } = input
  const format = acceptedFormat(http, query.format, fleetFormats)
  const paged = { ...input, query: { ...query, limit: query.limit ?? defaultItems } }
  const request = pageRequest(paged)
  if (format === 'json') return pageReply(paged, await read(ctx, request, format))
  const guard = await guardOf(input, ['fleetGps'])
  const pages = pagesOf((page) => read({ ...ctx, principal: guard.caller }, page, format), {
    ...{ after: request.after, limit: query.limit ?? Number.POSITIVE_INFINITY },
  })
  // An error of the first page has a status.
  let page: IteratorResult<Item[], void> | undefined = await pages.next()
  const next = async () => {
    const { value } = page ?? (await pages.next())
    page = undefined
    return value?.map((item) => rowOf(featureOf(item))) ?? null
  }
  return fileOf(input, { collection, format, check: guard.check, next })
}

async function* pagesOf<Item>(
  read: (page: PageRequest) => Promise<Page<Item>>,
  { limit, after }: PageRequest,
): AsyncGenerator<Item[], void> {
  let left = limit
  for (let from = after; ; ) {
    const { items, nextAfter } = await read({ limit: Math.min(itemsAtOnce, left), after: from })
    yield items
    left -= items.length
    if (nextAfter === null || left <= 0) return
    from = nextAfter
  }
}

const cellsAtOnce = 1_000

/** Coverage cells as a file. */
export async function coverageFile(
  input: Input<object>,
  cells: readonly DatedCoverageCell[],
  format: TableFormat,
): Promise<Response> {
  const { check } = await guardOf(input, ['fleetGps', 'coverage'])
  let from = 0
  const next = async () => {
    if (from >= cells.length) return null
    const part = cells.slice(from, from + cellsAtOnce)
    from += cellsAtOnce
    return part.map((cell) => rowOf(coverageFeature(cell)))
  }
  return fileOf(input, { collection: 'coverage', format, check, next })
}

const fileOf = (
  input: Input<object>,
  {
    collection,
    format,
    check,
    next,
  }: Pick<FileTable, 'check' | 'next'> & { collection: Collection; format: TableFormat },
): Response =>
  fileResponse(
    input,
    tableFile({ columns: columnsOf(collection), hasGeometry: true, check, next }, format),
    collection,
    format,
  )

/**
 * Checks during a download that the caller can still read all organizations that it could read at the beginning: a file with a part
 * of their data would look complete.
 */
async function guardOf({ ctx, query, reauthenticate }: Input<object>, needed: ('fleetGps' | 'coverage')[]) {
  const readable = async (principal: Principal) => {
    const found = await mappedOrganizations({ ...ctx, principal }, query.orgId, needed)
    return new Set(found.map(({ organizationId }) => organizationId))
  }
  const first = await readable(ctx.principal)
  const guard = {
    /** The caller, as it was found by the last check. */
    caller: ctx.principal,
    async check() {
      guard.caller = await reauthenticate()
      const lost = first.difference(await readable(guard.caller))
      for (const organizationId of lost) throw notFound('organization', organizationId)
    },
  }
  return guard
}
