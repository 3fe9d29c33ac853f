import type { SharedWords } from '#core/shared-words'

/** The names of a row's values: numbers, and words that many rows have in common. Each value can be null. */
export type RowLayout<Row> = {
  numbers: readonly NamesOf<Row, number>[]
  words: readonly NamesOf<Row, string>[]
}

type NamesOf<Row, Value> = { [Name in keyof Row]: Row[Name] extends Value | null ? Name : never }[keyof Row]

/**
 * The rows of a map's devices by ordinal, each with the same values. Values are in pages of typed arrays, because each garbage
 * collection would visit all objects and boxed numbers of a million devices.
 */
export type RowPages<Row> = {
  has(ordinal: number): boolean
  /** Returns a copy of the row; null if there is none. */
  read(ordinal: number): Row | null
  /** Returns one value of a row; null if there is no row. */
  number(ordinal: number, name: NamesOf<Row, number>): number | null
  /** Whether the row has exactly these values. */
  isSame(ordinal: number, row: Row): boolean
  write(ordinal: number, row: Row): void
  remove(ordinal: number): void
}

/** `numbers`: NaN stands for null. The first one of each row is 1 if there is a row. */
type Page = { numbers: Float64Array; words: (string | null)[]; rows: number }

const rowsPerPage = 64

/** Creates pages without rows. A page is freed with its last row. */
export function createRowPages<Row extends object>(layout: RowLayout<Row>, shared: SharedWords): RowPages<Row> {
  const { numbers: numberNames, words: wordNames } = layout
  const stride = 1 + numberNames.length
  const wordStride = wordNames.length
  const emptyRow = Object.fromEntries([...numberNames, ...wordNames].map((name) => [name, null])) as Row
  const pages: (Page | undefined)[] = []

  const newPage = (): Page => ({
    numbers: new Float64Array(rowsPerPage * stride),
    words: new Array<string | null>(rowsPerPage * wordStride).fill(null),
    rows: 0,
  })
  const pageOf = (ordinal: number): Page | undefined => pages[Math.floor(ordinal / rowsPerPage)]
  const pageFor = (ordinal: number): Page => {
    const index = Math.floor(ordinal / rowsPerPage)
    // An array with holes would be slow.
    while (pages.length <= index) pages.push(undefined)
    pages[index] ??= newPage()
    return pages[index]
  }
  const startOf = (ordinal: number): number => (ordinal % rowsPerPage) * stride
  const wordStartOf = (ordinal: number): number => (ordinal % rowsPerPage) * wordStride
  const isIn = (page: Page | undefined, ordinal: number): page is Page => page?.numbers[startOf(ordinal)] === 1

  return {
    has: (ordinal) => isIn(pageOf(ordinal), ordinal),
    read(ordinal) {
      const page = pageOf(ordinal)
      if (!isIn(page, ordinal)) return null
      const row = { ...emptyRow } as Record<keyof Row, number | string | null>
      let at = startOf(ordinal)
      for (const name of numberNames) row[name] = numberOrNull(page.numbers[++at])
      at = wordStartOf(ordinal)
      for (const name of wordNames) row[name] = page.words[at++] ?? null
      return row as Row
    },
    number(ordinal, name) {
      const page = pageOf(ordinal)
      return isIn(page, ordinal) ? numberOrNull(page.numbers[startOf(ordinal) + 1 + numberNames.indexOf(name)]) : null
    },
    isSame(ordinal, row) {
      const page = pageOf(ordinal)
      if (!isIn(page, ordinal)) return false
      const [start, wordStart] = [startOf(ordinal) + 1, wordStartOf(ordinal)]
      return (
        numberNames.every((name, index) => row[name] === numberOrNull(page.numbers[start + index])) &&
        wordNames.every((name, index) => row[name] === page.words[wordStart + index])
      )
    },
    write(ordinal, row) {
      const page = pageFor(ordinal)
      let at = startOf(ordinal)
      if (page.numbers[at] !== 1) page.rows += 1
      page.numbers[at] = 1
      for (const name of numberNames) page.numbers[++at] = (row[name] as number | null) ?? Number.NaN
      at = wordStartOf(ordinal)
      for (const name of wordNames) page.words[at++] = shared.word(row[name] as string | null)
    },
    remove(ordinal) {
      const page = pageOf(ordinal)
      if (!isIn(page, ordinal)) return
      page.rows -= 1
      page.numbers[startOf(ordinal)] = 0
      page.words.fill(null, wordStartOf(ordinal), wordStartOf(ordinal) + wordStride)
      if (page.rows === 0) pages[Math.floor(ordinal / rowsPerPage)] = undefined
    },
  }
}

const numberOrNull = (value: number | undefined): number | null =>
  value === undefined || Number.isNaN(value) ? null : value
