import { setTimeout as delay } from 'node:timers/promises'
import type { Finding } from '../fault.ts'
import type { Failure } from './client.ts'
import type { ClusterFault } from './fault.ts'
import { startClusterLoad } from './load.ts'
import type { ClusterScene } from './scene.ts'

/** One failure. All times are epoch milliseconds. */
type Round = { startedMs: number; healthyMs: number; acceptsMs: number; errorsUntilMs: number }

const afterChangeMs = 10_000
const afterRecoveryMs = 5_000
const acceptsWithinMs = 30_000
const watchedMs = 5_000

/** Causes the failure several times under load. Returns what the load, the API and the data showed. */
export async function runRounds(scene: ClusterScene, fault: ClusterFault, quick: boolean): Promise<Finding[]> {
  const rounds: Round[] = []
  scene.parts.watch()
  const load = await startClusterLoad(scene)
  for (let round = 0; round < (fault.rounds ?? (quick ? 1 : 3)); round++) {
    await fault.prepare?.({ round })
    await load.progress()
    rounds.push(await runRound(round))
  }
  await load.progress()
  const findings = await load.finish()
  const restarted = await scene.parts.unexpected()
  return [
    ...judge(rounds, load.operator.failures()),
    {
      what: 'all other processes keep running',
      held: restarted.length === 0,
      detail: restarted.length === 0 ? 'yes' : restarted.join(', '),
    },
    ...findings,
  ]

  async function runRound(round: number): Promise<Round> {
    const startedMs = Date.now()
    const accepting = load.accepts().then(() => Date.now())
    // Handled below, also if the cause fails first.
    accepting.catch(() => undefined)
    await fault.cause(scene, { round, quick })
    await scene.enginesAnswer()
    const errorsUntilMs = errorsUntil(startedMs, Date.now())
    const acceptsMs = await accepting
    await scene.healthy()
    const healthyMs = Date.now()
    // Requests that fail too late must be seen, too. --quick sees them only if they fail before the load ends.
    if (!quick) await delay(Math.max(0, errorsUntilMs + watchedMs - healthyMs))
    return { startedMs, healthyMs, acceptsMs, errorsUntilMs }
  }

  function errorsUntil(startedMs: number, answersMs: number): number {
    const period = typeof fault.apiErrors === 'function' ? fault.apiErrors(scene) : fault.apiErrors
    if (period === 'never') return startedMs
    return period === 'change' ? startedMs + afterChangeMs : answersMs + afterRecoveryMs
  }
}

function judge(rounds: readonly Round[], failures: readonly Failure[]): Finding[] {
  const roundOf = ({ atMs }: Failure) => rounds.findLast(({ startedMs }) => startedMs <= atMs)
  const late = failures.filter((failure) => failure.atMs > (roundOf(failure)?.errorsUntilMs ?? 0))
  const afterMs = failures.map((failure) => failure.atMs - (roundOf(failure)?.startedMs ?? failure.atMs))
  const allowedMs = Math.max(...rounds.map(({ startedMs, errorsUntilMs }) => errorsUntilMs - startedMs))
  const healthyMs = Math.max(...rounds.map((round) => round.healthyMs - round.startedMs))
  const acceptsMs = Math.max(...rounds.map((round) => round.acceptsMs - round.startedMs))
  const what = late[0] ?? failures[0]
  return [
    {
      what: 'failed under load',
      held: true,
      detail: `${rounds.length} times, all parts up after ${seconds(healthyMs)} s at most`,
    },
    {
      what: `reports are accepted within ${seconds(acceptsWithinMs)} s`,
      held: acceptsMs <= acceptsWithinMs,
      detail: `one per router after ${seconds(acceptsMs)} s at most`,
    },
    {
      what: `API errors only within ${seconds(allowedMs)} s of the change`,
      held: late.length === 0,
      detail: what
        ? `${failures.length} errors, the last after ${seconds(Math.max(...afterMs))} s, ${late.length} too late, such as ${what.what}`
        : 'no errors',
    },
  ]
}

const seconds = (ms: number) => (ms / 1_000).toFixed(1)
