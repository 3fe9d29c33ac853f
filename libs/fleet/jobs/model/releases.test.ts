import { expect, test } from 'vitest'
import type { JobDelivery } from '#fleet/jobs/model/good-moment'
import type { Rollout } from '#fleet/jobs/model/rollout'
import type { Schedule } from '#fleet/jobs/model/schedule'
import { earliestReleases, requireInTime } from './releases.ts'

const nowMs = Date.parse('2027-01-04T12:00:00Z')
const night: Schedule = { window: { from: '02:00', to: '04:00', timeZone: 'UTC' } }
const at = (time: string) => `2027-01-0${time}:00.000Z`

/** Creates a batch of so many jobs at noon that expire at `latestAt`. Returns why it is refused. */
function refusalOf(total: number, latestAt: string, { schedule, ...rollout }: Rollout & { schedule?: Schedule } = {}) {
  const delivery: JobDelivery = { when: 'goodSignal', minQuality: 'good', latestAt: at(latestAt), atLatest: 'expire' }
  try {
    requireInTime(delivery, earliestReleases({ total, schedule: schedule ?? null, rollout, nowMs }))
    return null
  } catch (error) {
    const [, what, time] = /The (.+) would expire before .+, at (\S+) at the earliest/.exec(String(error)) ?? []
    return `${what} ${time?.slice(9, 16)}`
  }
}

test('stages start after the waits and the minutes of those before them, in a window', () => {
  const stages = earliestReleases({
    ...{ total: 100, schedule: night, nowMs },
    rollout: { canary: 10, stages: [{ percent: 40 }], maxPerMinute: 5, stageWaitMinutes: 90 },
  })
  expect(
    stages.map(({ devices, ...times }) => [devices, ...Object.values(times).map((ms) => new Date(ms).toISOString())]),
  ).toEqual([
    [10, at('5T02:00'), at('5T02:01')],
    [40, at('5T03:31'), at('5T03:38')],
    [50, at('6T02:00'), at('6T02:09')],
  ])
  expect(earliestReleases({ total: 0, schedule: null, rollout: { canary: 1 }, nowMs })).toEqual([])
})

test.each([
  ['jobs 5T02:00', 1, '4T18:00', { schedule: night }],
  ['jobs 5T02:00', 1, '5T02:00', { schedule: night }],
  [null, 1, '5T02:01', { schedule: night }],
  ['jobs 5T20:00', 1, '5T08:00', { schedule: { startAt: at('5T20:00') } }],
  ['jobs of stage 2 4T14:00', 3, '4T13:00', { canary: 1, stageWaitMinutes: 120 }],
  [null, 3, '4T14:01', { canary: 1, stageWaitMinutes: 120 }],
  // Without another stage, nothing waits.
  [null, 1, '4T13:00', { canary: 1, stageWaitMinutes: 120 }],
  ['jobs of stage 2 6T02:00', 3, '5T05:00', { canary: 1, stageWaitMinutes: 180, schedule: night }],
  ['last jobs 4T12:02', 3, '4T12:01', { maxPerMinute: 1 }],
  ['last jobs of stage 2 4T12:02', 4, '4T12:02', { canary: 1, maxPerMinute: 1 }],
  [null, 3, '4T12:03', { maxPerMinute: 1 }],
] as const)('%s: of %d jobs that expire at %s with %o', (refusal, total, latestAt, options) => {
  expect(refusalOf(total, latestAt, options)).toBe(refusal)
})
