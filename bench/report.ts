/** What a benchmark says: one row a figure. `ratio` compares with a floor or peer of the same run. */
export type Figure = { name: string; value: string; ratio?: string; target?: string }

export type Bench = {
  name: string
  /** One sentence: what is measured against what. */
  about: string
  /** Runs only when it is asked for: it takes long. */
  byNameOnly?: boolean
  /** `minutes`: for those that run as long as one likes. */
  run: (options: { quick: boolean; minutes?: number | undefined }) => Promise<Figure[]>
}

/** Figures as a Markdown table. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ name, value, ratio = '', target = '' }) => `| ${name} | ${value} | ${ratio} | ${target} |`,
  )
  return ['| what | median of the rounds | ratio | target |', '|---|---|---|---|', ...rows].join('\n')
}
