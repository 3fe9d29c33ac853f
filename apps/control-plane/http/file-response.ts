import { parquetType } from './accepted-format.ts'
import { type GuardedSource, guardedStream } from './guarded-stream.ts'
import type { RouteInput } from './route.ts'

/** The media types of files, by the endings of their names. */
export const fileTypes = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
  parquet: parquetType,
} as const

/** A file to download, as it is read. The connection closes before its end if `file` fails. */
export const fileResponse = (
  { http, services }: Pick<RouteInput<unknown, unknown, unknown>, 'http' | 'services'>,
  file: GuardedSource,
  name: string,
  format: keyof typeof fileTypes,
): Response =>
  new Response(guardedStream(http, services, file), {
    headers: {
      'content-type': fileTypes[format],
      'content-disposition': `attachment; filename="${name}.${format}"`,
      'cache-control': 'no-store',
    },
  })
