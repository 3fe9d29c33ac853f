// How the generated Python is laid out.

export const maxColumns = 120

/** Returns `orgId` as `org_id`, and `from`, which is a keyword, as `from_`. */
export function snakeCase(name: string): string {
  const snake = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase()
  return snake === 'from' ? 'from_' : snake
}

/** Returns a Python string literal. JSON has the same escapes. */
export const literal = (value: string | number | boolean | null): string =>
  value === null ? 'None' : typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)

export const indent = (lines: readonly string[]): string[] => lines.map((line) => (line === '' ? '' : `    ${line}`))

/** Returns `open` + items + `close` on one line if it fits, otherwise with one item a line. */
export function enclosed(open: string, items: readonly string[], close: string, columns = maxColumns): string[] {
  const line = `${open}${items.join(', ')}${close}`
  return items.length === 0 || line.length <= columns
    ? [line]
    : [open, ...indent(items.flatMap((item) => `${item},`.split('\n'))), close]
}

/** Returns a docstring of the paragraphs, whose lines have at most `columns` characters. */
export function docstring(paragraphs: readonly string[], columns = maxColumns - 12): string[] {
  const text = paragraphs.filter((paragraph) => paragraph !== '').map((paragraph) => escaped(paragraph))
  const lines = text.flatMap((paragraph, index) => [...(index === 0 ? [] : ['']), ...wrapped(paragraph, columns)])
  if (lines.length === 0) return []
  const [only = ''] = lines
  return lines.length === 1 && only.length + 6 <= columns ? [`"""${only}"""`] : [`"""${only}`, ...lines.slice(1), '"""']
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('"""', "'''")

/** Breaks each line of the text. The rest of a line has the indentation of its beginning, and four columns more after `name:`. */
export function wrapped(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => {
    const [margin = ''] = /^ */.exec(line) ?? []
    const lines: string[] = []
    let current = ''
    for (const word of line.trim().split(' ')) {
      if (current !== '' && margin.length + current.length + 1 + word.length > columns) {
        lines.push(current)
        current = margin === '' ? word : `    ${word}`
      } else current = current === '' ? word : `${current} ${word}`
    }
    return [...lines, current].map((part) => (part === '' ? '' : margin + part))
  })
}
