import { constants, zstdCompressSync } from 'node:zlib'
import { ByteWriter, geojsonToWkb, ParquetWriter, type SchemaElement } from 'hyparquet-writer'
import { writeColumn } from 'hyparquet-writer/src/column.js'
import { isSliceOver, nextSlice } from '#core/slices'
import { geoMetadata, geometryColumn } from './geo-metadata.ts'
import { type Storage, storages } from './parquet-columns.ts'
import type { FileTable, Geometry, PlacedRow } from './table.ts'

// Large row groups are faster to read, but a download holds one in memory, and writing a column must not block others for long.
const groupBytes = 8 * 1024 * 1024
const groupRows = 20_000
const bytesPerValue = 8
const pageBytes = 1024 * 1024
const zstd = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

type HeldColumn = {
  storage: Storage
  element: SchemaElement
  /** The values of the row group; undefined if all are null. */
  held: unknown[] | undefined
}

const columnOf = (name: string, storage: Storage): HeldColumn => ({
  storage,
  element: { ...storage.element, name, repetition_type: 'OPTIONAL' },
  held: undefined,
})

/**
 * A Parquet file that is written in row groups of at most 20,000 rows and about 8 MiB, compressed with zstd. With geometries, it is a GeoParquet 1.1
 * file. Every column can be null.
 */
export function parquetFile({ columns, hasGeometry }: Pick<FileTable, 'columns' | 'hasGeometry'>) {
  const plain = columns.map(({ name, type }) => columnOf(name, storages[type]))
  const places = hasGeometry ? columnOf(geometryColumn, storages.wkb) : undefined
  const all = places ? [...plain, places] : plain
  const schema = [{ name: 'root', num_children: all.length }, ...all.map(({ element }) => element)]
  const geo = geoMetadata()
  const writer = new ByteWriter(groupBytes / 8)
  const file = new ParquetWriter({ writer, schema, createdBy: 'routerfleet' })
  let rows = 0
  let bytes = 0

  const hold = (column: HeldColumn, value: unknown) => {
    bytes += bytesPerValue
    if (value === null || value === undefined) return void column.held?.push(null)
    // Most columns of most files have no value at all.
    column.held ??= new Array(rows).fill(null)
    const held = column.storage.hold(value)
    bytes += column.storage.sizeOf?.(held) ?? 0
    column.held.push(held)
  }
  const writeGroup = async () => {
    if (rows === 0) return
    const chunks = []
    const startOffset = writer.offset
    for (const column of all) {
      // A column takes milliseconds.
      if (isSliceOver()) await nextSlice()
      chunks.push(writeHeld(writer, column, rows))
      column.held = undefined
    }
    const sizes = chunks.map(({ meta_data }) => meta_data?.total_uncompressed_size ?? 0n)
    file.row_groups.push({
      columns: chunks,
      num_rows: BigInt(rows),
      total_byte_size: sizes.reduce((sum, size) => sum + size, 0n),
      total_compressed_size: BigInt(writer.offset - startOffset),
    })
    file.num_rows += BigInt(rows)
    rows = 0
    bytes = 0
  }
  const takeBytes = (): Uint8Array => {
    const written = writer.getBytes().slice()
    writer.index = 0
    return written
  }
  return {
    add({ row, geometry }: PlacedRow): void {
      for (const column of plain) hold(column, row[column.element.name])
      if (places) hold(places, geometry && wkbOf(geometry))
      if (places && geometry) geo.add(geometry)
      rows++
    },
    /** Whether the rows that were added are a row group. */
    isFull: (): boolean => rows >= groupRows || bytes >= groupBytes,
    /** Returns the bytes of the rows that were added since the last row group. */
    async rowGroup(): Promise<Uint8Array> {
      await writeGroup()
      return takeBytes()
    },
    /** Returns the end of the file, with the rows that are left. */
    async end(): Promise<Uint8Array> {
      await writeGroup()
      if (places) file.kvMetadata = [{ key: 'geo', value: geo.text() }]
      file.finish()
      return takeBytes()
    },
  }
}

/** A copy, because each result of the library keeps a buffer of a kilobyte. */
const wkbOf = (geometry: Geometry): Uint8Array =>
  Buffer.from(geojsonToWkb(geometry as Parameters<typeof geojsonToWkb>[0]))

/** Writes the values of a column. Returns where they are, which the end of the file lists. */
function writeHeld(writer: ByteWriter, { storage, element, held }: HeldColumn, rows: number) {
  const values = held ? storage.stored(held) : new Array(rows).fill(null)
  const { chunk } = writeColumn({
    writer,
    column: {
      columnName: element.name,
      element,
      schemaPath: [{ name: 'root' }, element],
      codec: 'ZSTD',
      compressors: { ZSTD: (bytes) => zstdCompressSync(bytes, zstd) },
      stats: storage.hasBounds,
      pageSize: pageBytes,
      columnIndex: false,
      offsetIndex: false,
    },
    pageData: {
      values,
      definitionLevels: values.map((value) => (value === null ? 0 : 1)),
      repetitionLevels: [],
      maxDefinitionLevel: 1,
    },
  })
  return chunk
}
