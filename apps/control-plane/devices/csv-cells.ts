// How texts stand in the cells of a device file. An import reads what an export writes.

/** The apostrophes before what a spreadsheet runs as a formula. The CSV writer puts one there. */
const escapedFormula = /^'+(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])/
/** The form by which people keep a spreadsheet from changing a number: `="0012"`. */
const textFormula = /^="((?:[^"]|"")*)"$/

/** Returns the text for a cell. A text that begins like an escaped formula gets one more apostrophe. */
export const cellOfText = (text: string): string => (escapedFormula.test(text) ? `'${text}` : text)

/** Returns the text of a cell: without the apostrophe of an escaped formula, and the text of a formula that is only a text. */
export function textOfCell(cell: string): string {
  const [, formulaText] = textFormula.exec(cell) ?? []
  if (formulaText !== undefined) return formulaText.replaceAll('""', '"')
  return escapedFormula.test(cell) ? cell.slice(1) : cell
}

/** Returns tags for a cell, separated by semicolons. A tag with a separator is in quotes. */
export const cellOfTags = (tags: readonly string[]): string =>
  tags.map((tag) => (/[;,"]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(';')

/** Returns the tags of a cell. In quotes, a tag may contain separators. */
export function tagsOfCell(cell: string, separators: string): string[] {
  const tags: string[] = []
  const isEnd = (index: number) => index >= cell.length || separators.includes(cell.charAt(index))
  for (let start = 0; start < cell.length; ) {
    start = afterBlanks(cell, start)
    const quoted = readQuoted(cell, start)
    let end = quoted ? afterBlanks(cell, quoted.end) : start
    const isQuoted = quoted !== undefined && isEnd(end)
    while (!isEnd(end)) end += 1
    const tag = (isQuoted ? quoted.tag : cell.slice(start, end)).trim()
    if (tag !== '') tags.push(tag)
    start = end + 1
  }
  return tags
}

function afterBlanks(cell: string, start: number): number {
  let index = start
  while (cell[index] === ' ') index += 1
  return index
}

/** More than a tag of the maximum length has, with each character doubled. */
const maxQuotedLength = 256

/** Reads a tag in quotes, which doubles those inside. Undefined if there is none. */
function readQuoted(cell: string, start: number): { tag: string; end: number } | undefined {
  if (cell[start] !== '"') return undefined
  const end = Math.min(cell.length, start + maxQuotedLength)
  for (let index = start + 1; index < end; index += 1) {
    if (cell[index] !== '"') continue
    if (cell[index + 1] !== '"') return { tag: cell.slice(start + 1, index).replaceAll('""', '"'), end: index + 1 }
    index += 1
  }
  return undefined
}
