/** One figure of a benchmark. `ratio` compares it with a reference of the same run. */
export type Figure = { name: string; value: string; ratio?: string; target?: string }

export type Bench = {
  name: string
  /** One sentence that says what is compared with what. */
  about: string
  /** Runs only with `--only`, because it takes long or needs Kafka. */
  byNameOnly?: boolean
  run: (options: BenchOptions) => Promise<Figure[]>
}

/**
 * `devices` and `votes` of each change the size of the fleet, `minutes` the length of its history or of the run, and `rounds` how
 * often a bench measures.
 */
export type BenchOptions = {
  quick: boolean
  devices?: number | undefined
  votes?: number | undefined
  minutes?: number | undefined
  rounds?: number | undefined
}

/** Returns the figures as a Markdown table. */
export function table(figures: readonly Figure[]): string {
  const rows = figures.map(
    ({ name, value, ratio = '', target = '' }) => `| ${name} | ${value} | ${ratio} | ${target} |`,
  )
  return ['| measurement | median of the rounds | ratio | target |', '|---|---|---|---|', ...rows].join('\n')
}
