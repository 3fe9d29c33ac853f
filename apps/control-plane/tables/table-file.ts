import { forEachInSlices } from '#core/slices'
import { type CsvValue, csvLines } from '../http/csv.ts'
import type { GuardedSource } from '../http/guarded-stream.ts'
import { parquetFile } from './parquet-file.ts'
import type { FileTable, PlacedRow } from './table.ts'

export type TableFormat = 'csv' | 'parquet'

/** The table as a file, of which at most a row group is in memory at a time. */
export const tableFile = (table: FileTable, format: TableFormat): GuardedSource =>
  format === 'csv' ? csvFile(table) : parquetRowGroups(table)

function csvFile({ columns, check, next }: FileTable): GuardedSource {
  const names = columns.map(({ name }) => name)
  const linesOf = (features: Iterable<PlacedRow>): string =>
    csvLines(Array.from(features, ({ row }) => names.map((name) => row[name] as CsvValue)))
  let isBegun = false
  return {
    check,
    async next() {
      if (!isBegun) {
        isBegun = true
        return csvLines([names]) + linesOf((await next()) ?? [])
      }
      const features = await next()
      return features && linesOf(features)
    },
  }
}

function parquetRowGroups(table: FileTable): GuardedSource {
  const file = parquetFile(table)
  let isDone = false
  return {
    check: table.check,
    async next() {
      if (isDone) return null
      while (!file.isFull()) {
        const features = await table.next()
        if (!features) {
          isDone = true
          return file.end()
        }
        await forEachInSlices(features, file.add)
      }
      return file.rowGroup()
    },
  }
}
