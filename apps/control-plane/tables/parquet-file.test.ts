import { zstdDecompressSync } from 'node:zlib'
import fc from 'fast-check'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import { parquetFile } from './parquet-file.ts'
import type { FileColumn, FileColumnType, Geometry, PlacedRow } from './table.ts'

/** Values of a type, with the value that a reader returns. */
const values: Record<FileColumnType, fc.Arbitrary<[value: unknown, read: unknown]>> = {
  text: fc.string({ unit: 'binary' }).map((text) => [text, text]),
  number: fc.double().map((number) => [number, number]),
  integer: fc.maxSafeInteger().map((integer) => [integer, BigInt(integer)]),
  boolean: fc.boolean().map((boolean) => [boolean, boolean]),
  time: fc.date({ noInvalidDate: true }).map((date) => [date.toISOString(), date]),
  json: fc.jsonValue().map((json) => (json === null ? [null, null] : [json, JSON.stringify(json)])),
}

const position = fc.tuple(fc.double({ min: -180, max: 180 }), fc.double({ min: -90, max: 90, noNaN: true }))
const points = fc.option(position.filter(([lon]) => !Number.isNaN(lon)).map(pointAt))
function pointAt(coordinates: [number, number]): Geometry {
  return { type: 'Point', coordinates }
}

const columns = fc
  .uniqueArray(fc.tuple(fc.string({ unit: 'grapheme', minLength: 1 }), fc.constantFrom(...typesOf(values))), {
    ...{ selector: ([name]) => name, minLength: 1, maxLength: 6 },
  })
  .map((all) => all.map(([name, type]): FileColumn => ({ name: `${name}.`, type })))

function typesOf(of: typeof values) {
  return Object.keys(of) as FileColumnType[]
}

type Written = {
  columns: FileColumn[]
  groups: { row: [value: unknown, read: unknown][]; geometry: Geometry | null }[][]
}

const tables: fc.Arbitrary<Written> = columns.chain((all) => {
  const none = fc.constantFrom<[unknown, unknown]>([null, null], [undefined, null])
  const cells = all.map(({ type }) => fc.oneof(values[type], none))
  const groups = fc.array(fc.array(fc.record({ row: fc.tuple(...cells), geometry: points })), { maxLength: 4 })
  return fc.record({ columns: fc.constant(all), groups })
})

async function write(table: Pick<Parameters<typeof parquetFile>[0], 'columns' | 'hasGeometry'>, groups: PlacedRow[][]) {
  const file = parquetFile(table)
  const parts: Uint8Array[] = []
  for (const group of groups) {
    for (const feature of group) file.add(feature)
    parts.push(await file.rowGroup())
  }
  parts.push(await file.end())
  return new Uint8Array(Buffer.concat(parts)).buffer
}

const read = (file: ArrayBuffer) =>
  parquetReadObjects({ file, compressors: { ZSTD: (bytes) => zstdDecompressSync(bytes) } })

test('any rows in any row groups are read as they were written', () =>
  fc.assert(
    fc.asyncProperty(tables, fc.boolean(), async ({ columns, groups }, hasGeometry) => {
      const rowOf = (row: [unknown, unknown][]) =>
        Object.fromEntries(columns.map(({ name }, index) => [name, row[index]?.[0]]))
      const file = await write(
        { columns, hasGeometry },
        groups.map((group) => group.map(({ row, geometry }) => ({ row: rowOf(row), geometry }))),
      )
      const expected = groups.flat().map(({ row, geometry }) => ({
        ...Object.fromEntries(columns.map(({ name }, index) => [name, row[index]?.[1]])),
        ...(hasGeometry && { geometry }),
      }))
      const found = await read(file)
      expect(found.map((row) => ({ ...row }))).toEqual(expected)
      const { row_groups, num_rows } = parquetMetadata(file)
      expect(Number(num_rows)).toBe(expected.length)
      expect(row_groups.map((group) => Number(group.num_rows))).toEqual(
        groups.map((group) => group.length).filter((length) => length > 0),
      )
    }),
    { numRuns: 60 },
  ))

test('the end of the file has the types and the box of its geometries', async () => {
  const line: Geometry = {
    type: 'LineString',
    coordinates: [
      [-9, 52],
      [8.5, 50],
    ],
  }
  const features = [line, pointAt([3, 60]), null].map((geometry) => ({ row: { name: 'x' }, geometry }))
  const table = { columns: [{ name: 'name', type: 'text' as const }], hasGeometry: true }
  const geoOf = async (groups: PlacedRow[][]) => {
    const { key_value_metadata } = parquetMetadata(await write(table, groups))
    return JSON.parse(key_value_metadata?.find(({ key }) => key === 'geo')?.value ?? 'null')
  }
  expect(await geoOf([features.slice(0, 1), features.slice(1)])).toEqual({
    version: '1.1.0',
    primary_column: 'geometry',
    columns: { geometry: { encoding: 'WKB', geometry_types: ['LineString', 'Point'], bbox: [-9, 50, 8.5, 60] } },
  })
  const across = { type: 'MultiLineString' as const, coordinates: [[[178, -18], [180, -17]], [[-180, -17], [-179, -16]]] } // biome-ignore format: one look
  const around = [across, pointAt([179.5, -20])].map((geometry) => ({ row: { name: 'x' }, geometry }))
  expect((await geoOf([around])).columns.geometry.bbox).toEqual([178, -20, -179, -16])
  expect(await geoOf([])).toEqual({
    version: '1.1.0',
    primary_column: 'geometry',
    columns: { geometry: { encoding: 'WKB', geometry_types: [] } },
  })
})

test('a row group is full at 20,000 rows, or at 8 MiB however few rows it has', () => {
  const narrow = parquetFile({ columns: [{ name: 'kind', type: 'text' }], hasGeometry: false })
  for (let rows = 0; rows < 19_999; rows++) narrow.add({ row: { kind: 'system' }, geometry: null })
  expect(narrow.isFull()).toBe(false)
  narrow.add({ row: {}, geometry: null })
  expect(narrow.isFull()).toBe(true)
  const file = parquetFile({ columns: [{ name: 'cells', type: 'json' }], hasGeometry: false })
  const row = { cells: Array.from({ length: 32 }, () => ({ rat: 'lte', operatorName: 'x'.repeat(200) })) }
  let rows = 0
  for (; !file.isFull(); rows++) file.add({ row, geometry: null })
  expect(rows).toBe(Math.ceil((8 * 1024 * 1024) / (JSON.stringify(row.cells).length + 8)))
})
