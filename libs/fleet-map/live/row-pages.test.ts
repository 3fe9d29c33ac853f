import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSharedWords } from '#core/shared-words'
import { createRowPages } from '#fleet-map/live/row-pages'

type Row = { tsMs: number; level: number | null; word: string | null; other: string | null }

const ordinal = fc.nat({ max: 300 })
const rows = fc.record<Row>({
  tsMs: fc.integer(),
  level: fc.option(fc.double({ noNaN: true })),
  word: fc.option(fc.constantFrom('lte', 'nr-sa', '')),
  other: fc.option(fc.string()),
})
const steps = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('write' as const), ordinal, row: rows }),
    fc.record({ do: fc.constant('remove' as const), ordinal }),
  ),
)

const newPages = () =>
  createRowPages<Row>({ numbers: ['tsMs', 'level'], words: ['word', 'other'] }, createSharedWords())

test('rows are read as they were written, until they are removed', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      const pages = newPages()
      const expected = new Map<number, Row>()
      for (const step of taken) {
        if (step.do === 'write') {
          pages.write(step.ordinal, step.row)
          expected.set(step.ordinal, step.row)
        } else {
          pages.remove(step.ordinal)
          expected.delete(step.ordinal)
        }
      }
      for (let each = 0; each <= 300; each++) {
        const row = expected.get(each) ?? null
        expect(pages.read(each)).toEqual(row)
        expect(pages.has(each)).toBe(row !== null)
        expect(pages.number(each, 'level')).toBe(row?.level ?? null)
        if (row) expect(pages.isSame(each, { ...row })).toBe(true)
      }
    }),
  )
})

test('a row with one other value is another row', () => {
  const pages = newPages()
  const row: Row = { tsMs: 1, level: null, word: 'lte', other: null }
  pages.write(100, row)
  const others: Partial<Row>[] = [{ tsMs: 2 }, { level: 0 }, { word: null }, { other: '' }]
  for (const other of others) expect(pages.isSame(100, { ...row, ...other })).toBe(false)
  expect(pages.isSame(99, row)).toBe(false)
  pages.remove(100)
  expect(pages.isSame(100, row)).toBe(false)
})
