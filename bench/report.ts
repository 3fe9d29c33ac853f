/** What a benchmark says: one row a figure. `ratio` compares with a floor or peer of the same run. */
export type Figure = { name: string; value: string; ratio?: string; target?: string }

export type Bench = {
  name: string
  /** One sentence: what is measured against what. */
  about: string
  /** Runs only when it is asked for: it takes long. */
  byNameOnly?: boolean
  run: (options: BenchOptions) => Promise<Figure[]>
}

/** `devices` and `minutes`: another size of the fleet, and of what it reported or how long it does. */
export type BenchOptions = { quick: boolean; devices?: number | undefined; minutes?: number | undefined }

/** Figures as a Markdown table. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ name, value, ratio = '', target = '' }) => `| ${name} | ${value} | ${ratio} | ${target} |`,
  )
  return ['| what | median of the rounds | ratio | target |', '|---|---|---|---|', ...rows].join('\n')
}
