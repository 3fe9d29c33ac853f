import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  title: string
  cell: (row: Row) => ComponentChildren
  /** `number` aligns right; `actions` does too, and says its title to screen readers only. */
  kind?: 'text' | 'number' | 'actions'
  /** Left out where there is no room for it, on phones. */
  optional?: boolean
}

type TableProps<Row> = {
  /** What the rows are, for screen readers. */
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}

/** The one table of all views: a card, titles that stay on top, and fewer columns on narrow screens. */
export function Table<Row>({ caption, columns, rows, keyOf }: TableProps<Row>) {
  const looks = columns.map(({ kind = 'text', optional }) =>
    [kind === 'text' ? '' : 'number', optional ? 'optional' : ''].filter(Boolean).join(' '),
  )
  return (
    <div class="card table-frame">
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ title, kind }, index) => (
              <th key={title} scope="col" class={looks[index]}>
                {kind === 'actions' ? <span class="visually-hidden">{title}</span> : title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell }, index) => (
                <td key={title} class={looks[index]}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Short words side by side: tags, or what is set. */
export const Chips = ({ words }: { words: readonly string[] }) => (
  <span class="chips">
    {words.map((word) => (
      <span key={word} class="chip">
        {word}
      </span>
    ))}
  </span>
)
