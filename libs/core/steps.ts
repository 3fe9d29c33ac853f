import { setImmediate as otherWork } from 'node:timers/promises'

/** A long computation that stops between its steps, each of which takes milliseconds. */
export type Steps<Result> = Generator<void, Result>

/** Takes all steps at once and returns the result. */
export function takeSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** Takes the steps with the other work of the process between them. */
export async function takeStepsBesideOthers<Result>(steps: Steps<Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
    await otherWork()
  }
}
