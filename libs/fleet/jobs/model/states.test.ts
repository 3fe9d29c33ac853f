import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { backOffMs, decide, isFinal, type JobEvent, type JobState, type JobStatus } from '#fleet/jobs/model/states'

const startMs = Date.UTC(2026, 10, 21)
const timeoutMs = 600_000

const newJob = (change: Partial<JobState> = {}): JobState => ({
  status: 'queued',
  attempt: 1,
  maxAttempts: 3,
  notBeforeMs: null,
  deadlineAtMs: null,
  expiresAtMs: startMs + 3_600_000,
  isHeldBack: false,
  heldBecause: null,
  cancelRequested: false,
  acknowledged: false,
  progress: null,
  result: null,
  error: null,
  ...change,
})

/** The drawing of docs/jobs.md, written down a second time. */
const legal = new Set([
  'queued>dispatched',
  'queued>expired',
  'queued>cancelled',
  'queued>rejected',
  'dispatched>inProgress',
  'dispatched>queued',
  'dispatched>expired',
  'dispatched>cancelled',
  'dispatched>rejected',
  'inProgress>inProgress',
  'inProgress>succeeded',
  'inProgress>failed',
  'inProgress>rejected',
  'inProgress>timedOut',
  'inProgress>cancelled',
  'inProgress>queued',
  'failed>queued',
  'timedOut>queued',
  'cancelled>queued',
  'expired>queued',
  'rejected>queued',
])

/** The world around one job: a queue that repeats itself, a network that loses answers, a device that remembers. */
type World = {
  nowMs: number
  job: JobState
  timers: JobEvent[]
  device: { holds: number | null; done: Map<number, JobStatus>; effects: number[] }
  path: JobStatus[]
}

const happens = (world: World, event: JobEvent): ReturnType<typeof decide> => {
  const before = world.job
  const decision = decide(before, event, world.nowMs)
  if (decision.outcome !== 'changed') return decision
  world.job = decision.job
  expect(legal).toContain(`${before.status}>${decision.job.status}`)
  // Only a recall keeps the attempt: no device has seen it.
  const isNewAttempt = decision.job.status === 'queued' && before.status !== 'dispatched'
  expect(decision.job.attempt - before.attempt).toBe(isNewAttempt ? 1 : 0)
  if (decision.job.status !== before.status) world.path.push(decision.job.status)
  if (decision.job.status === 'queued') world.timers.push({ type: 'dispatch', attempt: decision.job.attempt })
  if (decision.job.status === 'inProgress') world.timers.push({ type: 'deadline', attempt: decision.job.attempt })
  return decision
}

const asksForWork = (world: World, answerLost: boolean) => {
  const decision = happens(world, { type: 'take', timeoutMs })
  const handedOut = world.job.status === 'inProgress' && ['changed', 'same'].includes(decision.outcome)
  if (!handedOut || answerLost) return
  const { attempt } = world.job
  // The device does not repeat an attempt that it remembers.
  if (!world.device.done.has(attempt) && world.device.holds !== attempt) {
    world.device.holds = attempt
    world.device.effects.push(attempt)
  }
}

const reports = (world: World, status: 'inProgress' | 'succeeded' | 'failed' | 'rejected', answerLost: boolean) => {
  const attempt = world.device.holds
  if (attempt === null) return
  const before = world.job
  const decision = happens(world, { type: 'report', report: { attempt, status } })
  if (attempt !== before.attempt) expect(decision.outcome).toBe('staleAttempt')
  if (status !== 'inProgress' && !answerLost) {
    world.device.done.set(attempt, status)
    world.device.holds = null
  }
}

const step = fc.oneof(
  fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 900_000 }) }),
  fc.record({ do: fc.constant('timer' as const), index: fc.nat(20), consumed: fc.boolean() }),
  fc.record({ do: fc.constant('ask' as const), answerLost: fc.boolean() }),
  fc.record({
    do: fc.constant('report' as const),
    status: fc.constantFrom('inProgress' as const, 'succeeded' as const, 'failed' as const, 'rejected' as const),
    answerLost: fc.boolean(),
  }),
  fc.record({
    do: fc.constant('event' as const),
    type: fc.constantFrom('expire' as const, 'cancel' as const, 'recall' as const),
  }),
  fc.record({
    do: fc.constant('withdraw' as const),
    because: fc.constantFrom('deviceGone', 'deviceDisabled', 'profileGone'),
  }),
  fc.record({ do: fc.constant('retry' as const) }),
  fc.record({ do: fc.constant('crash' as const) }),
)

const begin = (): World => ({
  nowMs: startMs,
  job: newJob(),
  timers: [{ type: 'dispatch', attempt: 1 }],
  device: { holds: null, done: new Map(), effects: [] },
  path: ['queued'],
})

const perform = (world: World, action: typeof step extends fc.Arbitrary<infer Step> ? Step : never) => {
  if (action.do === 'wait') world.nowMs += action.ms
  if (action.do === 'timer') {
    const timer = world.timers[action.index % Math.max(world.timers.length, 1)]
    if (timer) happens(world, timer)
    if (timer && action.consumed) world.timers.splice(world.timers.indexOf(timer), 1)
  }
  if (action.do === 'ask') asksForWork(world, action.answerLost)
  if (action.do === 'report') reports(world, action.status, action.answerLost)
  if (action.do === 'event') happens(world, { type: action.type })
  if (action.do === 'withdraw') {
    happens(world, { type: 'withdraw', because: action.because })
  }
  if (action.do === 'retry') happens(world, { type: 'retry', maxAttempts: 3, expiresAtMs: world.nowMs + 3_600_000 })
  // The queue and the worker are gone: what the row says is queued again, everything else is forgotten.
  if (action.do === 'crash') {
    world.timers =
      world.job.status === 'queued'
        ? [{ type: 'dispatch', attempt: world.job.attempt }]
        : [{ type: 'deadline', attempt: world.job.attempt }]
  }
}

test('with lost, repeated and late messages and crashes: only legal steps, one effect per attempt, one end', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (actions) => {
      const world = begin()
      for (const action of actions) perform(world, action)
      expect(new Set(world.device.effects).size).toBe(world.device.effects.length)
      // Then the device stays away: time alone must end the job.
      for (let round = 0; !isFinal(world.job.status) && round < 20; round += 1) {
        world.nowMs += 3_600_000
        happens(world, { type: 'expire' })
        happens(world, { type: 'deadline', attempt: world.job.attempt })
      }
      expect(isFinal(world.job.status)).toBe(true)
      for (const event of [{ type: 'expire' }, { type: 'cancel' }, { type: 'take', timeoutMs }] as const) {
        expect(decide(world.job, event, world.nowMs + 1e9).outcome).not.toBe('changed')
      }
    }),
    { numRuns: 3_000 },
  )
})

describe('single rules', () => {
  const inProgress = newJob({ status: 'inProgress', deadlineAtMs: startMs + timeoutMs })

  test('a job is handed out again as the same attempt until the device reports', () => {
    expect(decide(inProgress, { type: 'take', timeoutMs }, startMs).outcome).toBe('same')
    const acknowledged = { ...inProgress, acknowledged: true }
    expect(decide(acknowledged, { type: 'take', timeoutMs }, startMs).outcome).toBe('unavailable')
  })

  test('a missed deadline is retried with back-off until the attempts are used up, and never after a cancel', () => {
    const late = startMs + timeoutMs
    const again = decide(inProgress, { type: 'deadline', attempt: 1 }, late)
    expect(again).toMatchObject({ job: { status: 'queued', attempt: 2, notBeforeMs: late + backOffMs(1) } })
    const last = decide({ ...inProgress, attempt: 3 }, { type: 'deadline', attempt: 3 }, late)
    expect(last).toMatchObject({ job: { status: 'timedOut', error: { code: 'deadline_exceeded' } } })
    const nextWindow = { type: 'deadline' as const, attempt: 1, expiresAtMs: late + 86_400_000 }
    const kept = decide({ ...inProgress, expiresAtMs: late }, nextWindow, late)
    expect(kept).toMatchObject({ job: { status: 'queued', expiresAtMs: late + 86_400_000 } })
    const unwanted = decide({ ...inProgress, cancelRequested: true }, { type: 'deadline', attempt: 1 }, late)
    expect(unwanted).toMatchObject({ job: { status: 'timedOut' } })
  })

  test.each([
    [newJob(), { type: 'dispatch', attempt: 1 }, 'dispatched'],
    [newJob({ status: 'dispatched' }), { type: 'take', timeoutMs }, 'inProgress'],
    [newJob(), { type: 'expire' }, 'queued'],
    [{ ...inProgress, deadlineAtMs: startMs }, { type: 'deadline', attempt: 1 }, 'queued'],
  ] as [JobState, JobEvent, JobStatus][])(
    '%o expires, but not while its batch holds it back: %o',
    (job, event, status) => {
      const late = startMs + 10 * 3_600_000
      const heldBack = { ...job, isHeldBack: true }
      const decision = decide(heldBack, event, late)
      expect((decision.outcome === 'changed' ? decision.job : heldBack).status).toBe(status)
      const free = decide(job, event, late)
      expect(free).toMatchObject({ job: { status: event.type === 'deadline' ? 'timedOut' : 'expired' } })
    },
  )

  test('each end that no person and no device chose says why', () => {
    const errorOf = (job: JobState, event: JobEvent, atMs = startMs) => {
      const decision = decide(job, event, atMs)
      return decision.outcome === 'changed' ? decision.job.error?.code : decision.outcome
    }
    for (const job of [newJob(), newJob({ status: 'dispatched' })]) {
      expect(errorOf(job, { type: 'withdraw', because: 'deviceGone' })).toBe('device_gone')
      expect(errorOf(job, { type: 'withdraw', because: 'deviceDisabled' })).toBe('device_disabled')
      expect(errorOf(job, { type: 'withdraw', because: 'profileGone' })).toBe('profile_gone')
      expect(errorOf(job, { type: 'cancel', isAborted: true })).toBe('rollout_aborted')
      expect(errorOf(job, { type: 'cancel' })).toBeUndefined()
      expect(errorOf(job, { type: 'expire' }, job.expiresAtMs)).toBe('expired')
    }
    expect(errorOf(inProgress, { type: 'withdraw', because: 'deviceGone' })).toBe('device_gone')
    expect(decide(newJob({ attempt: 2 }), { type: 'expire' }, newJob().expiresAtMs)).toMatchObject({
      job: { error: { detail: 'The device did not take attempt 2 of the job before it expired.' } },
    })
  })

  test('cancelling a taken job is a request that the device may still answer with success', () => {
    const asked = decide(inProgress, { type: 'cancel' }, startMs)
    expect(asked).toMatchObject({ job: { status: 'inProgress', cancelRequested: true } })
    if (asked.outcome !== 'changed') throw new Error('not changed')
    const done = decide(asked.job, { type: 'report', report: { attempt: 1, status: 'succeeded' } }, startMs)
    expect(done).toMatchObject({ job: { status: 'succeeded', progress: 100 } })
  })

  test('a device that took the job in time may report its end after the expiry, and one that did not may not', () => {
    const report = { type: 'report', report: { attempt: 1, status: 'succeeded' } } as const
    const late = inProgress.expiresAtMs + 1
    expect(decide(inProgress, { type: 'expire' }, late).outcome).toBe('notDue')
    expect(decide(inProgress, report, late)).toMatchObject({ job: { status: 'succeeded' } })
    expect(decide(newJob({ status: 'expired' }), report, late).outcome).toBe('final')
  })

  test('the final report may be repeated but not contradicted', () => {
    const failed = newJob({ status: 'failed' })
    expect(decide(failed, { type: 'report', report: { attempt: 1, status: 'failed' } }, startMs).outcome).toBe('same')
    expect(decide(failed, { type: 'report', report: { attempt: 1, status: 'succeeded' } }, startMs).outcome).toBe(
      'final',
    )
  })

  test('the back-off doubles from 30 s to 15 min', () => {
    expect([1, 2, 3, 6, 40].map(backOffMs)).toEqual([30_000, 60_000, 120_000, 900_000, 900_000])
  })
})
