/** What a column holds: `time` ISO 8601 text, `json` any JSON value, which is text in a file. */
export type FileColumnType = 'text' | 'number' | 'integer' | 'boolean' | 'time' | 'json'
export type FileColumn = { name: string; type: FileColumnType }
/** The values of a row by column. Null and undefined are no value. */
export type Row = Readonly<Record<string, unknown>>

type Positions = readonly (number | Positions)[]
/** A geometry of GeoJSON with longitude and latitude in degrees. */
export type Geometry = {
  type: 'Point' | 'LineString' | 'MultiLineString' | 'Polygon' | 'MultiPolygon'
  coordinates: Positions
}
export type PlacedRow = { row: Row; geometry: Geometry | null }

/** A table to be written as a file, in parts. */
export type FileTable = {
  columns: readonly FileColumn[]
  /** Whether its rows have a place on the map. Parquet then has the column `geometry`. */
  hasGeometry: boolean
  /** Throws if the caller is no longer allowed to read. */
  check(): Promise<void>
  /** The next rows, or null at the end. */
  next(): Promise<Iterable<PlacedRow> | null>
}
