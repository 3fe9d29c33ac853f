import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { until } from '#test/until'
import { countTurnFailures, startPeriodicTasks } from './periodic.ts'

test('the failure of one organization is reported with its id and counted, and the task is not counted as failed', async () => {
  const registry = new Registry()
  const reports: unknown[][] = []
  const defect = new Error('a defect')
  const tasks = startPeriodicTasks({
    tasks: [
      {
        name: 'evaluate',
        everyMs: 60_000,
        run: (rounds) =>
          rounds.run({
            owners: ['broken', 'other'],
            workOf: (owner) => [
              async () => {
                if (owner === 'broken') throw defect
                return { changes: 3, hasMore: false }
              },
            ],
          }),
      },
    ],
    registry,
    onError: (...report) => reports.push(report),
    turnFailures: countTurnFailures(registry, (...report) => reports.push(report)),
  })
  await until('the run', async () => (await registry.metrics()).includes('outcome="done"'))
  await tasks.stop()
  expect(reports).toEqual([['evaluate', defect, 'broken']])
  const metrics = await registry.metrics()
  expect(metrics).toContain('worker_failed_turns_total{task="evaluate"} 1')
  expect(metrics).toContain('periodic_task_changes_total{task="evaluate"} 3')
  expect(metrics).not.toContain('outcome="failed"')
})
