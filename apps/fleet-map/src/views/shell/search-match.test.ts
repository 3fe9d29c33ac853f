import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchingEntries, type SearchEntry } from './search-match.ts'

const entry = (label: string, kind = 'Group', hint = ''): SearchEntry => ({ kind, label, hint, href: label })
const labels = (entries: SearchEntry[], query: string) => matchingEntries(entries, query).map(({ label }) => label)

test('each word of the query begins a word of the label, the hint or the kind, in any case and order', () => {
  const entries = [entry('Night buses'), entry('Buses of the north'), entry('Ombudsman'), entry('Été')]
  expect(labels(entries, 'bus')).toEqual(['Buses of the north', 'Night buses'])
  expect(labels(entries, 'buses NIGHT')).toEqual(['Night buses'])
  expect(labels(entries, 'group ombud')).toEqual(['Ombudsman'])
  expect(labels(entries, 'été'.normalize('NFD'))).toEqual(['Été'])
  expect(labels(entries, ' ')).toEqual([])
})

test('a kind has at most six entries', () => {
  const groups = Array.from({ length: 20 }, (_, n) => entry(`Depot ${n}`))
  expect(matchingEntries([...groups, entry('Depot', 'Place')], 'depot')).toHaveLength(7)
})

test('what begins with the query comes first, and nothing is found twice', () => {
  const words = fc.array(fc.constantFrom('bus', 'north', 'depot', 'x'), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(
      fc.uniqueArray(
        words.map((list) => list.join(' ')),
        { maxLength: 6 },
      ),
      words,
      (names, query) => {
        const found = labels(
          names.map((name) => entry(name)),
          query.join(' '),
        )
        expect(new Set(found).size).toBe(found.length)
        const first = found.map((label) => label.startsWith(query.join(' ').toLowerCase()))
        expect(first).toEqual([...first].sort((a, b) => Number(b) - Number(a)))
      },
    ),
  )
})
