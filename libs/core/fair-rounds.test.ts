import { beforeEach, expect, test } from 'vitest'
import { createFairRounds, type Piece } from '#core/fair-rounds'

// A clock that moves only when work says so.
let nowMs = 0
let done: string[] = []
let failures: [owner: string, error: unknown][] = []
beforeEach(() => {
  nowMs = 0
  done = []
  failures = []
})

const rounds = (isUnavailable = (_: unknown) => false) =>
  createFairRounds({ nowMs: () => nowMs, onError: (error, owner) => failures.push([owner, error]), isUnavailable })

/** A piece that takes so long and runs so many times. */
function piece(name: string, costMs: number, times = 1): Piece {
  let left = times
  return async () => {
    nowMs += costMs
    done.push(name)
    left -= 1
    return { changes: 1, hasMore: left > 0 }
  }
}
const fail = (error: unknown): Piece => {
  return () => Promise.reject(error)
}

test('an owner with much work delays another owner by one turn, and finishes its work', async () => {
  const work = { noisy: [piece('noisy', 400, 7)], quiet: [piece('quiet', 1)] }
  const changes = await rounds().run({
    owners: ['noisy', 'quiet'],
    workOf: (owner) => work[owner as keyof typeof work],
    turnMs: 1_000,
  })
  expect(done).toEqual(['noisy', 'noisy', 'noisy', 'quiet', 'noisy', 'noisy', 'noisy', 'noisy'])
  expect(changes).toBe(8)
})

test('the next round continues where an owner stopped and begins with those that waited', async () => {
  const fair = rounds()
  const plans: string[] = []
  const round = {
    owners: ['noisy', 'quiet'],
    workOf: (owner: string) => {
      plans.push(owner)
      return owner === 'noisy' ? [piece('first', 600), piece('second', 600), piece('third', 600)] : [piece('quiet', 1)]
    },
    turnMs: 1_000,
    roundMs: 1_000,
  }
  await fair.run(round)
  expect(done).toEqual(['first', 'second'])
  await fair.run(round)
  expect(done).toEqual(['first', 'second', 'quiet', 'third'])
  expect(plans).toEqual(['noisy', 'quiet'])
})

test('a round that starts over lists the work of each owner again, and begins with those that waited', async () => {
  const fair = rounds()
  const workOf = (owner: string) => [piece(owner, 1, 2)]
  const round = { owners: ['a', 'b'], workOf, turnMs: 1, maxChanges: 1, startsOver: true }
  await fair.run(round)
  await fair.run({ ...round, workOf: (owner) => [piece(`${owner} again`, 1)], maxChanges: 9 })
  expect(done).toEqual(['a', 'b again', 'a again'])
})

test('a round ends after its number of changes', async () => {
  const workOf = (owner: string) => [piece(owner, 1, 10)]
  expect(await rounds().run({ owners: ['a', 'b', 'c'], workOf, turnMs: 1, maxChanges: 4 })).toBe(4)
  expect(done).toEqual(['a', 'b', 'c', 'a'])
})

test('an error skips one piece of one owner and is reported with its owner', async () => {
  const poison = new Error('poison')
  const work: Record<string, Piece[]> = { bad: [fail(poison), piece('bad', 1)], good: [piece('good', 1)] }
  const changes = await rounds().run({
    owners: ['planless', 'bad', 'good'],
    workOf: (owner) => work[owner] ?? Promise.reject(poison),
  })
  expect(changes).toBe(2)
  expect(done).toEqual(['bad', 'good'])
  expect(failures).toEqual([
    ['planless', poison],
    ['bad', poison],
  ])
})

test('without a receiver of errors, the round serves all owners and then throws the first error', async () => {
  const fair = createFairRounds({ nowMs: () => nowMs })
  const workOf = (owner: string) => [owner === 'bad' ? fail(new Error('poison')) : piece(owner, 1)]
  await expect(fair.run({ owners: ['bad', 'good'], workOf })).rejects.toThrow('poison')
  expect(done).toEqual(['good'])
})

test('a store that three owners in a row cannot reach ends the round; one owner alone does not', async () => {
  const gone = new Error('gone')
  const fair = rounds((error) => error === gone)
  const workOf = (owner: string) => [owner.startsWith('bad') ? fail(gone) : piece(owner, 1)]
  await fair.run({ owners: ['bad 1', 'bad 2', 'good', 'bad 3'], workOf })
  expect(done).toEqual(['good'])
  await expect(fair.run({ owners: ['bad 4', 'bad 5', 'bad 6', 'late'], workOf })).rejects.toBe(gone)
  // The next round begins with the owner that had no turn.
  await fair.run({ owners: ['bad 4', 'late'], workOf })
  expect(done).toEqual(['good', 'late'])
})
