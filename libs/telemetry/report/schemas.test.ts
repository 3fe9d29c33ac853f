import { expect, it } from 'vitest'
import { z } from 'zod'
import { dwellSignal } from '#telemetry/coverage/dwell-signal'
import { addColumnSql, columnName, createTableSql, tables } from '#telemetry/rows/tables'
import { fieldsOf, kinds } from './fields.ts'
import { recordFieldsSchema, reportSchema, sampleSchema } from './schemas.ts'

it('documents every field of every kind as JSON schema', () => {
  for (const kind of kinds) {
    const { properties } = z.toJSONSchema(sampleSchema(kind), { io: 'input' })
    const names = fieldsOf(kind).map(([name]) => name)
    expect(Object.keys(properties ?? {}).sort()).toEqual([...new Set([...names, 'kind', 'ts', 'ageMs'])].sort())
    expect(Object.keys(recordFieldsSchema(kind).shape)).toEqual(names)
  }
  const { $defs } = z.toJSONSchema(reportSchema, { io: 'input' })
  expect($defs?.TelemetryReport?.required).toEqual(['samples'])
})

it('documents a report that the service accepts', () => {
  const location = { kind: 'location', ts: '2026-01-15T12:00:00Z', lat: 51.9, lon: -8.4, fix: '3d', ageMs: 200 }
  const cellular = { kind: 'cellular', rat: 'lte', cells: [{ role: 'neighbor', pci: 3 }] }
  expect(reportSchema.safeParse({ sentAt: 1_768_478_400_000, samples: [location, cellular] }).success).toBe(true)
  expect(reportSchema.safeParse({ samples: [] }).success).toBe(false)
})

it('has one column for every field', () => {
  for (const kind of kinds) {
    const names = tables[kind].columns.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect(names).toEqual(expect.arrayContaining(fieldsOf(kind).map(([name]) => columnName(name))))
  }
  expect(columnName('nrRsrpDbm')).toBe('nr_rsrp_dbm')
})

it('creates tables that deduplicate by time and device and keep rows as long as the longest plan', () => {
  const sql = createTableSql(tables.location, 90)
  expect(sql).toContain('CREATE TABLE IF NOT EXISTS location')
  expect(sql).toContain('TIMESTAMP(ts) PARTITION BY DAY TTL 90 DAYS WAL\nDEDUP UPSERT KEYS(ts, device_id)')
  const [column] = tables.system.columns.slice(-1)
  if (column === undefined) throw new Error('the table has no columns')
  expect(addColumnSql(tables.system, column)).toBe('ALTER TABLE system ADD COLUMN IF NOT EXISTS fault VARCHAR')
})

it('summarizes the signal of a dwell', () => {
  const sample = (second: number, rat: string, rsrpDbm: number | null) => ({
    tsMs: second * 1000,
    rat,
    rsrpDbm,
    sinrDb: null,
  })
  const samples = [
    sample(0, 'lte', -90),
    sample(10, 'none', -140),
    sample(25, 'none', null),
    sample(30, 'lte', -95.4),
    sample(40, 'none', null),
  ]
  expect(dwellSignal(samples)).toEqual({ rsrpP50Dbm: -95, sinrP50Db: null, noServiceS: 20 })
})
