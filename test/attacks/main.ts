import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { SkipFault } from '../faults/fault.ts'
import type { Attack } from './attack.ts'
import { attacks } from './attacks.ts'
import { generator } from './generator/generator.ts'
import { carryOut, measureCalm, type Outcome } from './judge.ts'
import { openSession, restartGrown, type Session } from './session.ts'

// npm run test:attacks -- [--quick] [--only NAME]... [--part K/N] [--generator] [--minutes N] [--seed N]: attacks real
// processes while a bystander measures its response times. Exit code 1 if a limit broke. --generator runs only generated
// requests. --part runs every Nth attack, so that N processes share all of them. With --report-limits, exceeded limits of time
// and memory are printed and do not change the exit code. After SIGINT or SIGTERM, the attack in progress and those after it
// are not judged.
const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    part: { type: 'string', default: '1/1' },
    generator: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    seed: { type: 'string' },
    'report-limits': { type: 'boolean', default: false },
  },
})
const generated = generator({
  minutes: Number(values.minutes ?? (values.quick ? 0.5 : 10)),
  seed: Number(values.seed ?? randomInt(1_000_000)),
})
const only = values.generator ? [generated.name, ...values.only] : values.only
const all = [...attacks, generated]
const [part, parts] = partOf(values.part)
const chosen = all
  .filter(({ name }) => only.length === 0 || only.includes(name))
  .filter((_, index) => index % parts === part - 1)
if (chosen.length === 0) {
  console.error(
    `Unknown attack ${only}, or none in part ${values.part}. Attacks: ${all.map(({ name }) => name).join(', ')}.`,
  )
  process.exit(2)
}

const calmMs = values.quick ? 2_000 : 5_000
/** The time limit of an attack, and the time it may take to end after that. */
const attackLimitMs = values.quick ? 45_000 : 600_000
const endLimitMs = 150_000

const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  // A second signal exits immediately. The exit handler kills the remaining processes.
  process.on(signal, () => (interrupted.signal.aborted ? process.exit(1) : interrupted.abort()))
}

let session: Session | undefined
let broken = 0
let exceeded = 0
const notJudged: string[] = []
try {
  for (const attack of chosen) await runAttack(attack)
} finally {
  await session?.close()
}
console.log(`\nBroken: ${broken}. Exceeded limits of time and memory: ${exceeded}.`)
if (notJudged.length > 0) console.log(`Interrupted. Not judged: ${notJudged.join(', ')}.`)
process.exit(notJudged.length === 0 && broken === 0 && (exceeded === 0 || values['report-limits']) ? 0 : 1)

/** Reads "2/3", the second of three parts. */
function partOf(text: string): [part: number, parts: number] {
  const [part = 0, parts = 0] = text.split('/').map(Number)
  if (Number.isInteger(part) && Number.isInteger(parts) && part >= 1 && part <= parts) return [part, parts]
  console.error(`Invalid --part ${text}: use for example 1/2.`)
  process.exit(2)
}

/** Runs one attack, prints the findings, and counts the broken ones. */
async function runAttack(attack: Attack): Promise<void> {
  const startedMs = Date.now()
  const { signal: stop } = interrupted
  const outcome = stop.aborted ? undefined : await outcomeOf(attack).catch(explain)
  // What an interrupted attack finds may be an effect of the interruption.
  if (outcome === undefined || stop.aborted) {
    notJudged.push(attack.name)
    return
  }
  const { answers, findings } = outcome
  console.log(`\n${attack.name} (${((Date.now() - startedMs) / 1000).toFixed(0)} s): ${attack.about}`)
  console.log(`  answers  ${inWords(answers)}`)
  for (const { what, held, detail, isMeasured } of findings) {
    console.log(`  ${held ? 'held    ' : isMeasured ? 'EXCEEDED' : 'BROKEN  '}  ${what}: ${detail}`)
    if (held) continue
    if (isMeasured) exceeded += 1
    else broken += 1
  }
}

async function outcomeOf(attack: Attack): Promise<Outcome> {
  const { signal: stop } = interrupted
  if (attack.target !== undefined) await closeSession()
  session ??= await openSession(attack.target ?? {}, stop)
  await attack.prepare?.(session.target)
  await restartGrown(session)
  let calm = await measureCalm(session, calmMs)
  if (calm === undefined && attack.target === undefined) {
    // An earlier attack left the service in a bad state. Start a new one, so that this attack is not blamed for it.
    await closeSession()
    session = await openSession({}, stop)
    await attack.prepare?.(session.target)
    calm = await measureCalm(session, calmMs)
  }
  if (calm === undefined) throw new Error('The service was not calm before the attack.')
  const limitMs = (attack.durationMs ?? 0) + attackLimitMs
  const limit = AbortSignal.timeout(limitMs)
  const signal = AbortSignal.any([stop, limit])
  try {
    return await inTime(carryOut(attack, session, calm, { quick: values.quick, signal }), limitMs + endLimitMs)
  } finally {
    if (attack.target !== undefined || limit.aborted) await closeSession()
  }
}

/** Rejects if the work does not end in time or the run is interrupted. */
function inTime<Result>(work: Promise<Result>, limitMs: number): Promise<Result> {
  work.catch(() => {})
  const stop = AbortSignal.any([interrupted.signal, AbortSignal.timeout(limitMs)])
  const stopped = new Promise<never>((_, reject) => {
    stop.addEventListener('abort', () => reject(new Error(`The attack did not end: ${stop.reason}`)))
  })
  return Promise.race([work, stopped])
}

async function closeSession(): Promise<void> {
  const open = session
  session = undefined
  await open?.close()
}

function inWords(answers: Outcome['answers']): string {
  const parts = Object.entries(answers).sort(([, one], [, other]) => other - one)
  return parts.map(([answer, count]) => `${count} × ${answer}`).join(', ') || 'none'
}

function explain(error: unknown): Outcome {
  if (error instanceof SkipFault) {
    return { answers: {}, findings: [{ what: 'skipped', held: true, detail: error.message }] }
  }
  const detail = error instanceof Error ? (error.stack ?? '') : String(error)
  return { answers: {}, findings: [{ what: 'the run itself', held: false, detail }] }
}
