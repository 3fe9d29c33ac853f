import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { zstdDecompressSync } from 'node:zlib'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'

const compressors = { ZSTD: (bytes: Uint8Array) => zstdDecompressSync(bytes) }

export type ParquetRow = Record<string, unknown>

/** The rows of a Parquet file, the types of its columns, and its GeoParquet metadata. */
export async function readParquet(file: ArrayBuffer) {
  const { schema, key_value_metadata = [], row_groups } = parquetMetadata(file)
  const geo = key_value_metadata.find(({ key }) => key === 'geo')?.value
  return {
    rows: (await parquetReadObjects({ file, compressors })).map((row): ParquetRow => ({ ...row })),
    types: Object.fromEntries(
      schema
        .slice(1)
        .map(({ name, type, converted_type, logical_type }) => [
          name,
          logical_type?.type === 'GEOMETRY' ? 'GEOMETRY' : (converted_type ?? type),
        ]),
    ),
    rowGroups: row_groups.length,
    geo: geo === undefined ? undefined : JSON.parse(geo),
  }
}

/** The cell of a CSV file for a value of a Parquet file. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  return value instanceof Date ? value.toISOString() : String(value)
}

type DuckDb = { query(sql: string): Promise<Record<string, unknown>[]>; close(): void }

/** Opens DuckDB where `.ci/run` installs it. Undefined if it is not installed. */
export async function openDuckDb(): Promise<DuckDb | undefined> {
  const folder = join(import.meta.dirname, '../../.cache/duckdb/node_modules/@duckdb/node-api')
  if (!existsSync(folder)) return undefined
  const { DuckDBInstance } = await import(join(folder, 'lib/index.js'))
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  return {
    query: async (sql) => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}
