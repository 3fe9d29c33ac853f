import type { ComponentChildren } from 'preact'

export type Column<Row> = {
  title: string
  /** Shown instead of the title. */
  heading?: ComponentChildren
  cell: (row: Row) => ComponentChildren
  /** `number` and `actions` align right. Only screen readers see the title of `actions`. */
  kind?: 'text' | 'number' | 'actions'
  /** Hidden on narrow screens. */
  optional?: boolean
}

type TableProps<Row> = {
  /** Names the table for screen readers. */
  caption: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf: (row: Row) => string
}

/** The table that all views use. Narrow screens hide the optional columns. */
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
            {columns.map(({ title, heading, kind }, index) => (
              <th key={title} scope="col" class={looks[index]}>
                {kind === 'actions' ? <span class="visually-hidden">{title}</span> : (heading ?? title)}
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

/** A row of short labels, such as tags. Those beyond `most` are a number with a tooltip. */
export function Chips({ words, most = words.length }: { words: readonly string[]; most?: number }) {
  const others = words.slice(most)
  return (
    <span class="chips">
      {words.slice(0, most).map((word) => (
        <span key={word} class="chip">
          {word}
        </span>
      ))}
      {others.length > 0 ? (
        <span class="chip" title={others.join(', ')}>
          +{others.length}
          <span class="visually-hidden"> more: {others.join(', ')}</span>
        </span>
      ) : null}
    </span>
  )
}
