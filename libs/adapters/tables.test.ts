import { describe, expect, test } from 'vitest'
import { fieldsOf, type Kind } from '#telemetry/report/fields'
import { createDroppedFields } from './dropped-fields.ts'
import { compileTable } from './mapping.ts'
import { makerTables } from './tables.ts'

/** Returns an object with a value at a path of member names. */
const objectWith = (path: string, value: unknown): unknown =>
  path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)

const qualities = new Set(['accuracyM', 'hdop', 'fix', 'fixTs'])

describe.each(makerTables.map((table) => ({ ...table, table })))('$source: $title', ({ table }) => {
  const read = compileTable(table)
  const lines = table.mappings.flatMap(({ from, to: fields, as }) =>
    fields.map((to) => ({ from, to, as, line: `${from} is ${to}` })),
  )

  test.each(lines)('$line: a field that exists', ({ to }) => {
    const [kind, name] = to.split('.') as [Kind, string]
    expect(fieldsOf(kind).map(([field]) => field)).toContain(name)
  })

  test.each(lines.filter(({ as }) => as.known))('$line: only words of the field', ({ from, to, as }) => {
    const [kind, name] = to.split('.') as [Kind, string]
    const field = fieldsOf(kind).find(([field]) => field === name)?.[1]
    const words = field?.type === 'word' ? field.words : []
    for (const word of as.known ?? []) {
      const dropped = createDroppedFields()
      const value = read(objectWith(from, word.toUpperCase()), dropped).get(kind)?.get(name)
      expect(value === undefined || words.includes(value as string), `${word} is ${value}`).toBe(true)
      expect(dropped.total()).toBe(0)
    }
  })

  test.each(lines)('$line: null if there is no value', ({ from, to, as }) => {
    const [kind, name] = to.split('.') as [Kind, string]
    const own = new Set(as.known?.map((word) => word.toLowerCase()))
    const markers = table.noValue.filter((marker) => !own.has(marker.toLowerCase()))
    for (const marker of [...markers.flatMap((text) => [text, text.toUpperCase(), text.toLowerCase()]), null]) {
      const dropped = createDroppedFields()
      const value = read(objectWith(from, marker), dropped, new Map([[kind, new Map()]]))
        .get(kind)
        ?.get(name)
      // A mark that the quality of a position is unknown must not look like a position without one.
      const isUnknown = qualities.has(name) && typeof marker === 'string' && marker !== ''
      expect(value).toBe(isUnknown ? 'unknown' : undefined)
      expect(dropped.list()).toEqual([])
    }
  })

  test.each(lines)('$line: a value of a wrong type is counted by name', ({ from, to }) => {
    const [kind, name] = to.split('.') as [Kind, string]
    const dropped = createDroppedFields()
    const value = read(objectWith(from, true), dropped).get(kind)?.get(name)
    expect(value).toBe(qualities.has(name) ? 'unknown' : undefined)
    const names = dropped.list().map(({ field }) => field)
    expect(names).toContain(table.at === '' ? from : `${table.at}.${from}`)
  })
})
