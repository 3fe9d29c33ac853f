import { setTimeout as delay } from 'node:timers/promises'
import { countRows, figuresOf } from '#test/stored-telemetry'
import { until } from '#test/until'
import { commandLine } from '../../apps/stack/engines/command-line.ts'
import type { Finding } from '../faults/fault.ts'
import type { Attack, AttackOptions, AttackReport, ProbeName } from './attack.ts'
import type { Figures } from './bystander-messages.ts'
import { countConnections, leftBehind } from './connections.ts'
import type { Session } from './session.ts'

/** The limits for the bystander's waits and for the memory growth of an app. */
const limitsMs: Record<ProbeName, number> = {
  controlPlaneLivez: 500,
  ingestLivez: 500,
  deviceList: 500,
  deviceRead: 500,
  nextJob: 500,
  reportQueryable: 10_000,
}
const memoryLimitMib = 300

/** The minimum share that is assumed, so that the limits remain meaningful on a busy machine. */
const mostShare = 0.9
const drainLimitMs = 15_000
const backlogLimitMs = 90_000
const connectionsLimitMs = 15_000

export type Outcome = { answers: AttackReport['answers']; findings: readonly Finding[] }

/**
 * Waits until the service is calm and returns the bystander's waits. On a busy machine, accepts a period in which only the
 * machine was slow. Returns undefined if the service itself does not become calm.
 */
export async function measureCalm({ bystander, target }: Session, calmMs: number): Promise<Figures | undefined> {
  const giveUpMs = Date.now() + 45_000
  let fallback: Figures | undefined
  while (Date.now() < giveUpMs) {
    await bystander.begin()
    await delay(calmMs)
    const calm = await bystander.figures()
    const { backlog_samples: backlog } = await figuresOf(target.ingestUrl).catch(() => ({ backlog_samples: Infinity }))
    const failed = Object.values(calm.waits).some(({ failures }) => failures > 0)
    if (failed || backlog === undefined || backlog > 100) continue
    if (probeNames.every((name) => calm.waits[name].longestMs < limitsMs[name] / 2)) return calm
    if (probeNames.every((name) => calm.waits[name].longestMs < allowedMs(name, calm))) fallback = calm
  }
  return fallback
}

const probeNames = Object.keys(limitsMs) as ProbeName[]

/** Runs an attack and compares the bystander's measurements with the limits. */
export async function carryOut(
  attack: Attack,
  session: Session,
  calm: Figures,
  options: AttackOptions,
): Promise<Outcome> {
  const { target, bystander } = session
  const connections = await countConnections(target.pool)
  const endsBefore = target.apps.unexpectedEnds().length
  await bystander.follow(session.pids())
  await bystander.begin()
  const startedMs = Date.now()
  const report = await attack.run(target, options)
  const seconds = (Date.now() - startedMs) / 1_000
  const inTime = !options.signal.aborted
  await bystander.follow(session.pids())
  // The service may still process requests of the attack after the last one was sent.
  await bystander.drain(drainLimitMs)
  const figures = await bystander.figures()
  session.acknowledged += report.acceptedSamples ?? 0
  const ends = [...target.apps.unexpectedEnds().slice(endsBefore), ...(await endedEngines(session))]
  return {
    answers: report.answers,
    findings: [
      {
        what: 'the machine',
        held: true,
        detail: `others used ${(figures.othersShare * 100).toFixed(0)} % of it, its longest stall was ${ms(figures.stallMs)}`,
      },
      { what: 'the attack ended', held: inTime, detail: `after ${seconds.toFixed(1)} s`, isMeasured: true },
      ...waitFindings(attack, figures, calm),
      ...(attack.mayNotFail ? [failureFinding(figures)] : []),
      ...memoryFindings(figures),
      { what: 'no restart', held: ends.length === 0, detail: ends.length === 0 ? 'none' : ends.join('; ') },
      await connectionFinding(session, connections),
      ...(await storedFindings(session)),
      ...(report.findings ?? []),
    ],
  }
}

/** The engines that run no more. An attack that ends one also starts it again. */
async function endedEngines({ target }: Session): Promise<string[]> {
  const engines = Object.entries(target.engines)
  const found = await Promise.all(engines.map(async ([name, { pid }]) => ((await commandLine(pid)) ? [] : [name])))
  return found.flat().map((name) => `${name} ended`)
}

/**
 * The permitted wait of a probe: its limit, scaled by the share of the machine that other programs left to the service, plus
 * the longest pause of the machine itself.
 */
const allowedMs = (name: ProbeName, { othersShare, stallMs }: Figures) =>
  limitsMs[name] / (1 - Math.min(othersShare, mostShare)) + stallMs

function waitFindings(attack: Attack, figures: Figures, calm: Figures): Finding[] {
  return probeNames.map((name) => {
    const { longestMs, count, failures, lastFailure } = figures.waits[name]
    const isJudged = !attack.exempt?.includes(name)
    const limit = isJudged ? `allowed ${ms(allowedMs(name, figures))}` : 'not judged'
    const failed = failures === 0 ? '' : `; ${failures} not answered well, last: ${lastFailure}`
    return {
      what: `bystander's ${name}`,
      held: !isJudged || longestMs <= allowedMs(name, figures),
      isMeasured: true,
      detail: `${ms(longestMs)} at most of ${count} (${limit}, before the attack ${ms(calm.waits[name].longestMs)})${failed}`,
    }
  })
}

function failureFinding({ waits }: Figures): Finding {
  const failed = probeNames.filter((name) => waits[name].failures > 0)
  const detail = failed.map((name) => `${waits[name].failures} × ${name}, last: ${waits[name].lastFailure}`).join('; ')
  return { what: 'no request of the bystander failed', held: failed.length === 0, detail: detail || 'none' }
}

function memoryFindings({ memory }: Figures): Finding[] {
  return Object.entries(memory).flatMap(([name, { beforeMib, peakMib, grownMib }]) => {
    const isApp = name in { controlPlane: 1, ingest: 1, worker: 1 }
    // The engines have their own limits.
    if (!isApp && name !== 'tree') return []
    const detail = `${grownMib.toFixed(0)} MiB (${beforeMib.toFixed(0)} → ${peakMib.toFixed(0)})`
    return [{ what: `memory of ${name}`, held: !isApp || grownMib < memoryLimitMib, detail, isMeasured: true }]
  })
}

async function connectionFinding({ target }: Session, before: Map<string, number>): Promise<Finding> {
  const what = 'no connection left behind'
  let left: string[] = []
  try {
    const after = await until(
      what,
      async () => {
        const now = await countConnections(target.pool)
        left = leftBehind(before, now)
        return left.length === 0 && now
      },
      connectionsLimitMs,
    )
    return { what, held: true, detail: `${sum(before)} before, ${sum(after)} after` }
  } catch (error) {
    return { what, held: false, detail: left.join(', ') || String(error) }
  }
}

const sum = (counts: Map<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0)

/** Checks accepted = stored with the metrics of ingest, the stored rows and the responses to senders. */
async function storedFindings(session: Session): Promise<Finding[]> {
  const { target, bystander } = session
  const figures = () => figuresOf(target.ingestUrl)
  try {
    const told = session.acknowledged + (await bystander.figures()).acceptedSamples
    const before = await until('the backlog is stored', async () => isStored(await figures()), backlogLimitMs)
    const counted = await countRows(target.questdb)
    const rows = counted.rows - target.seeded.rows
    const after = await figures()
    const { samples_stored_total: stored = 0, samples_dead_lettered_total: dead = 0 } = before
    const { samples_accepted_total: acceptedAfter = 0, samples_replaced_total: replaced = 0 } = after
    return [
      {
        what: 'accepted = stored',
        held: dead === 0 && rows >= stored && rows <= acceptedAfter - replaced && counted.rows === counted.distinct,
        detail: `${before.samples_accepted_total} accepted, ${rows} rows (${counted.rows - counted.distinct} doubled), ${dead} dead letters`,
      },
      {
        what: 'acknowledged = kept',
        held: acceptedAfter >= told,
        detail: `${told} acknowledged, ${acceptedAfter} in the log`,
      },
    ]
  } catch (error) {
    const now = await figures().catch(() => ({}))
    return [{ what: 'accepted = stored', held: false, detail: `${String(error)} ${JSON.stringify(now)}` }]
  }
}

/** Returns the metrics when the backlog contains only the latest samples of the bystander. */
function isStored(figures: Record<string, number>): Record<string, number> | undefined {
  return (figures.backlog_samples ?? 1) <= 2 ? figures : undefined
}

const ms = (value: number) => `${value.toFixed(0)} ms`
