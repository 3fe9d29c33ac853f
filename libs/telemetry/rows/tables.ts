import type { Field } from '#telemetry/report/field-types'
import { fieldsOf, type Kind, kinds } from '#telemetry/report/fields'
import { sourceFields } from '#telemetry/report/sources'

export type ColumnType = 'SYMBOL' | 'VARCHAR' | 'DOUBLE' | 'LONG' | 'BOOLEAN' | 'TIMESTAMP'

/** `key` is the member of a row the column is filled from; times in rows are epoch milliseconds. */
export type Column = { name: string; key: string; type: ColumnType; options?: string }

export type TableName = Kind | 'dwell'

/**
 * Every table also has `ts`, `device_id` and `org_id` before its own columns. `sourceColumns`: the columns that, with `ts` and
 * `device_id`, are the key of a row.
 */
export type Table = { name: TableName; columns: readonly Column[]; sourceColumns: readonly string[] }

/** `rsrpDbm` → `rsrp_dbm`. */
export const columnName = (key: string): string => key.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

/** Symbols are used only for closed lists of words, because a symbol table never shrinks. */
function columnFor(name: string, field: Field): Column {
  const base = { name: columnName(name), key: name }
  switch (field.type) {
    case 'number':
      return { ...base, type: 'DOUBLE' }
    case 'time':
      return { ...base, type: 'TIMESTAMP' }
    case 'word':
      return { ...base, type: 'SYMBOL', options: 'CAPACITY 32' }
    case 'plmn':
      return { ...base, type: 'SYMBOL', options: 'CAPACITY 1024' }
    default:
      return { ...base, type: 'VARCHAR' }
  }
}

const arrivalColumns: Column[] = [
  { name: 'received_at', key: 'receivedAtMs', type: 'TIMESTAMP' },
  { name: 'ts_corrected', key: 'tsCorrected', type: 'BOOLEAN' },
]

/** Columns that the writer adds to a kind's fields. */
const derivedColumns: Record<Kind, Column[]> = {
  connection: [],
  system: [],
  location: [{ name: 'usable', key: 'usable', type: 'BOOLEAN' }],
  cellular: [
    { name: 'aligned_lat', key: 'alignedLat', type: 'DOUBLE' },
    { name: 'aligned_lon', key: 'alignedLon', type: 'DOUBLE' },
    { name: 'alignment', key: 'alignment', type: 'SYMBOL', options: 'CAPACITY 32' },
    { name: 'align_error_m', key: 'alignErrorM', type: 'DOUBLE' },
    { name: 'aligned_fix_age_ms', key: 'alignedFixAgeMs', type: 'DOUBLE' },
    { name: 'h3_10', key: 'h3Res10', type: 'LONG' },
    { name: 'h3_5', key: 'h3Res5', type: 'LONG' },
    { name: 'lost_plmn', key: 'lostPlmn', type: 'SYMBOL', options: 'CAPACITY 1024' },
  ],
}

const kindTable = (kind: Kind): Table => ({
  name: kind,
  sourceColumns: sourceFields[kind].map(columnName),
  columns: [
    ...arrivalColumns,
    ...fieldsOf(kind).map(([name, field]) => columnFor(name, field)),
    ...derivedColumns[kind],
  ],
})

/**
 * `ts` is the arrival. Late data can move an arrival or remove a dwell. A row cannot be deleted, so it is then written
 * again with `withdrawn` true.
 */
const dwellTable: Table = {
  name: 'dwell',
  sourceColumns: [],
  columns: [
    { name: 'received_at', key: 'receivedAtMs', type: 'TIMESTAMP' },
    { name: 'id', key: 'id', type: 'VARCHAR' },
    { name: 'departed_at', key: 'departedAtMs', type: 'TIMESTAMP' },
    { name: 'first_outside_at', key: 'firstOutsideAtMs', type: 'TIMESTAMP' },
    { name: 'last_inside_at', key: 'lastInsideAtMs', type: 'TIMESTAMP' },
    { name: 'lat', key: 'lat', type: 'DOUBLE' },
    { name: 'lon', key: 'lon', type: 'DOUBLE' },
    { name: 'radius_m', key: 'radiusM', type: 'DOUBLE' },
    { name: 'fix_count', key: 'fixCount', type: 'LONG' },
    { name: 'accuracy_m', key: 'accuracyM', type: 'DOUBLE' },
    { name: 'anchor_lat', key: 'anchorLat', type: 'DOUBLE' },
    { name: 'anchor_lon', key: 'anchorLon', type: 'DOUBLE' },
    { name: 'gap', key: 'gap', type: 'BOOLEAN' },
    { name: 'withdrawn', key: 'withdrawn', type: 'BOOLEAN' },
  ],
}

const kindTables = Object.fromEntries(kinds.map((kind) => [kind, kindTable(kind)])) as Record<Kind, Table>

export const tables: Record<TableName, Table> = { ...kindTables, dwell: dwellTable }

const keyColumns = [
  'ts TIMESTAMP',
  // A device's rows are few in a part of a day: small index blocks, or each commit of a large fleet writes more index than rows.
  // QuestDB increases the capacity of the symbol as ids are added. A larger one from the start would cost each installation:
  // every open reader of a table reserves 4 bytes of the Java heap for each id of the capacity.
  'device_id SYMBOL CAPACITY 131072 CACHE INDEX CAPACITY 16',
  'org_id SYMBOL CAPACITY 4096 CACHE',
]

const columnDefinition = ({ name, type, options }: Column): string => [name, type, options].filter(Boolean).join(' ')

/** The columns whose values make two rows one. */
export const keyOf = ({ sourceColumns }: Table): string[] => ['ts', 'device_id', ...sourceColumns]

/** The statement that makes a table, deduplicated by its key. `ttlDays`: the longest history sold. */
export function createTableSql(table: Table, ttlDays: number): string {
  const definitions = [...keyColumns, ...table.columns.map(columnDefinition)]
  return [
    `CREATE TABLE IF NOT EXISTS ${table.name} (`,
    definitions.map((definition) => `  ${definition}`).join(',\n'),
    `) TIMESTAMP(ts) PARTITION BY DAY TTL ${ttlDays} DAYS WAL`,
    `DEDUP UPSERT KEYS(${keyOf(table).join(', ')})`,
  ].join('\n')
}

/** The statement that gives a table made by an earlier version its present key. Rows that are stored do not change. */
export const setKeySql = (table: Table): string =>
  `ALTER TABLE ${table.name} DEDUP ENABLE UPSERT KEYS(${keyOf(table).join(', ')})`

/** The statement that adds one column to a table made by an earlier version. */
export const addColumnSql = (table: Table, column: Column): string =>
  `ALTER TABLE ${table.name} ADD COLUMN IF NOT EXISTS ${columnDefinition(column)}`
