export type Cell = string | number | boolean | null | undefined

/** Rows as aligned columns with a header. An empty list is one sentence. */
export function table(header: readonly string[], rows: readonly (readonly Cell[])[], ifEmpty = 'None.'): string {
  if (rows.length === 0) return ifEmpty
  const lines = [header, ...rows.map((row) => row.map(textOf))]
  const widths = header.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))))
  return lines
    .map((line) => line.map((text, column) => text + ' '.repeat((widths[column] ?? 0) - widthOf(text))).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

const textOf = (cell: Cell): string =>
  cell === null || cell === undefined || cell === '' ? '-' : printable(String(cell))

// Names come from other people: a terminal must not interpret them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters.
const printable = (text: string): string => text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ')

/** The number of columns of a text in a terminal: characters of East Asian scripts and emoji take two. */
const widthOf = (text: string): number =>
  [...text].reduce((width, character) => width + (wide.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1), 0)

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
