import { readFile } from 'node:fs/promises'
import { isCode, replaceFile } from '#files/durable-file'

/** The steps of a set-up, each of which is done once per data folder. */
export type DoneSteps = {
  /** Does the step and returns its result; if it was done before, returns only its result, which is JSON. */
  once: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>
}

/** Opens the steps that `file` lists as done. A step that was interrupted is not in it. */
export async function openSteps(file: string): Promise<DoneSteps> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (!isCode(error, 'ENOENT')) throw error
    return '{}'
  })
  const done = new Map<string, unknown>(Object.entries(JSON.parse(text)))
  return {
    async once<Result>(name: string, work: () => Promise<Result>) {
      if (done.has(name)) return done.get(name) as Result
      const result = await work()
      done.set(name, result ?? null)
      await replaceFile(file, JSON.stringify(Object.fromEntries(done)))
      return result
    },
  }
}
