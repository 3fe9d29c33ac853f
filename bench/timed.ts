/** Runs a part of a bench and prints how long it took. */
export async function timed<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  const startMs = performance.now()
  try {
    return await work()
  } finally {
    console.error(`${name}: ${Math.round((performance.now() - startMs) / 1_000)} s`)
  }
}
