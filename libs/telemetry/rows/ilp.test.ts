import { SenderBufferV2, SenderOptions } from '@questdb/nodejs-client'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { CellularRow } from '#telemetry/report/rows'
import { createRowEncoder, type RowOrigin } from './ilp.ts'
import { radioRow } from './radio-row.ts'
import { type Table, tables } from './tables.ts'

type Row = { tsMs: number } & Record<string, unknown>

/** The same rows through the client library, columns in the order of the row's members. */
function encodeWithClient(table: Table, rows: Row[], origin: RowOrigin): Buffer {
  const buffer = new SenderBufferV2(new SenderOptions('http::addr=localhost:9000;protocol_version=2'))
  for (const row of rows) {
    const present = Object.keys(row).flatMap((key) => {
      const column = table.columns.find((each) => each.key === key)
      const value = row[key]
      return column === undefined || value === null ? [] : [{ ...column, value }]
    })
    buffer.table(table.name).symbol('device_id', origin.deviceId).symbol('org_id', origin.organizationId)
    for (const { name, type, value } of present) if (type === 'SYMBOL') buffer.symbol(name, value)
    buffer.timestampColumn('received_at', BigInt(origin.receivedAtMs), 'ms')
    for (const { name, type, value } of present) {
      if (type === 'VARCHAR') buffer.stringColumn(name, String(value))
      if (type === 'DOUBLE') buffer.floatColumn(name, Number(value))
      if (type === 'LONG') buffer.intColumn(name, Number(value))
      if (type === 'BOOLEAN') buffer.booleanColumn(name, value === true)
      if (type === 'TIMESTAMP') buffer.timestampColumn(name, BigInt(Number(value)), 'ms')
    }
    buffer.at(BigInt(row.tsMs), 'ms')
  }
  return buffer.toBufferNew() ?? Buffer.alloc(0)
}

const nastyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: fc.constantFrom(' ', ',', '=', '"', '\\', '\n', '\r', 'a', 'é', '📡', '\u0000'), maxLength: 300 }),
)
const tsMs = fc.integer({ min: 1, max: Date.UTC(2200, 0, 1) })
const value = {
  SYMBOL: nastyText.filter((text) => text !== ''),
  VARCHAR: nastyText,
  DOUBLE: fc.double(),
  LONG: fc.maxSafeInteger(),
  BOOLEAN: fc.boolean(),
  TIMESTAMP: tsMs,
}

const rowOf = (table: Table): fc.Arbitrary<Row> =>
  fc.record({
    tsMs,
    ...Object.fromEntries(
      table.columns
        .filter(({ key }) => key !== 'receivedAtMs')
        .map(({ key, type }) => [key, fc.option(value[type] as fc.Arbitrary<unknown>)]),
    ),
  })

const origin = fc.record({ deviceId: value.SYMBOL, organizationId: value.SYMBOL, receivedAtMs: tsMs })

it.each(Object.values(tables))('writes $name rows byte for byte as the client library does', (table) => {
  fc.assert(
    fc.property(fc.array(rowOf(table), { minLength: 1, maxLength: 4 }), origin, (rows, rowOrigin) => {
      const encoder = createRowEncoder(table, 16)
      const ends = rows.map((row) => {
        encoder.append(row, rowOrigin)
        return encoder.size()
      })
      const encoded = encoder.take()
      expect(encoded.bytes.equals(encodeWithClient(table, rows, rowOrigin))).toBe(true)
      expect(encoded.rowEnds).toEqual(ends)
      expect(encoder.size()).toBe(0)
    }),
    { numRuns: 60 },
  )
})

/** The columns that alignment changes, after all others. */
const laterKeys = ['simPlmn', 'alignment', 'lostPlmn', 'alignedLat', 'alignedLon', 'alignErrorM', 'alignedFixAgeMs']
const withLaterLast = (row: Row): Row => {
  const later = [...laterKeys, 'h3Res10', 'h3Res5'].map((key) => [key, row[key]])
  return {
    ...Object.fromEntries(Object.entries(row).filter(([key]) => !later.some(([name]) => name === key))),
    ...Object.fromEntries(later),
  }
}

it('writes RF rows that were encoded before as it writes whole rows', () => {
  fc.assert(
    fc.property(fc.array(rowOf(tables.cellular), { minLength: 1, maxLength: 4 }), origin, (rows, rowOrigin) => {
      const [whole, before] = [createRowEncoder(tables.cellular, 16), createRowEncoder(tables.cellular, 16)]
      for (const row of rows.map((each) => ({ ...each, alignment: each.alignment ?? 'none' }))) {
        whole.append(withLaterLast(row), rowOrigin)
        before.appendRadio(radioRow(row as unknown as CellularRow, 'owner', 1), rowOrigin)
      }
      expect(before.take()).toEqual(whole.take())
    }),
    { numRuns: 60 },
  )
})

it('encodes rows with members in another order', () => {
  const encoder = createRowEncoder(tables.system)
  const from = { deviceId: 'd', organizationId: 'o', receivedAtMs: 1 }
  encoder.append({ tsMs: 1, firmware: 'a', cpuPct: null, fault: 'b', not: 'a column' } as Row, from)
  encoder.append({ fault: 'b', tsMs: 1, firmware: 'a' } as Row, from)
  const line = (fields: string) => `system,device_id=d,org_id=o received_at=1000t,${fields} 1000t\n`
  expect(encoder.take().bytes.toString()).toBe(line('firmware="a",fault="b"') + line('fault="b",firmware="a"'))
})

it('encodes integers beyond the range of exact doubles as LONG', () => {
  const encoder = createRowEncoder(tables.cellular)
  const h3Res10 = 621922123292803071n
  encoder.append({ tsMs: 5, h3Res10 } as Row & { h3Res10: bigint }, {
    deviceId: 'd',
    organizationId: 'o',
    receivedAtMs: 7,
  })
  expect(encoder.take().bytes.toString()).toBe(
    `cellular,device_id=d,org_id=o received_at=7000t,h3_10=${h3Res10}i 5000t\n`,
  )
})
