import { repeat } from '#core/schedule'
import type { QuestdbServer } from '#questdb/server/servers'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { type CopyState, chooseCopy, isEligible, returnLagMs } from './copy-choice.ts'
import { openCopyProbe } from './copy-probe.ts'
import { type CopySession, openCopySession } from './copy-session.ts'

/** The copy that a request reads. */
export type ReadCopy = {
  /** The name of the copy; empty for an only server. */
  name: string
  questdb: QuestdbSql
  /** All reports accepted more than this time ago can be read, in milliseconds. Undefined: unknown. */
  lagMs(): number | undefined
}

/** The state of a copy for operators. `lagMs`: null if unknown. */
export type CopyReport = { name: string; answers: boolean; lagMs: number | null; isRead: boolean }

export type Copies = {
  /** Returns the copy to read now. A request uses one for all of its queries. */
  current(): ReadCopy
  /** Returns the state of each copy in the configured order. */
  report(): CopyReport[]
  /** Returns whether the current copy answers and lags less than 60 s. */
  isFresh(): boolean
  /** Returns how often another copy was chosen since the start. */
  changes(): number
  close(): Promise<void>
}

type CopiesParts = {
  servers: readonly QuestdbServer[]
  applicationName: string
  /** Connections to each copy. */
  maxConnections: number
  /** Reads the lag of each copy by name, in milliseconds. A copy that it lacks has an unknown lag. */
  readLags: () => Promise<ReadonlyMap<string, number>>
  onChange: (from: string, to: string) => void
}

const probeEveryMs = 500
const lagEveryMs = 1_000
/** Two, because a process that was busy for a while sees one timeout when it continues. */
const failuresUntilLost = 2

/** Returns the only server as a copy that never lags. Its failures are those of its statements. */
export function openOnlyCopy(
  server: QuestdbServer,
  options: { applicationName: string; maxConnections: number },
): Copies {
  const copy = onlyCopy(openQuestdbSql(server.pgUrl, options))
  return {
    current: () => copy,
    report: () => [],
    isFresh: () => true,
    changes: () => 0,
    close: () => copy.questdb.end(),
  }
}

/** Returns connections to an only server as the copy to read. */
export const onlyCopy = (questdb: QuestdbSql): ReadCopy => ({ name: '', questdb, lagMs: () => 0 })

/**
 * Watches all copies with short probes and chooses the one to read. Resolves after the first probe of each. A copy that
 * refuses connections is lost at once, a silent one after two probes, 3.5 s at most; its statements then reject.
 */
export async function openCopies(parts: CopiesParts): Promise<Copies> {
  const { readLags, onChange } = parts
  let lags: { readAtMs: number; byName: ReadonlyMap<string, number> } = { readAtMs: 0, byName: new Map() }
  let currentIndex = 0
  let changes = 0

  function lagOf(name: string): number | undefined {
    const lagMs = lags.byName.get(name)
    return lagMs === undefined ? undefined : lagMs + performance.now() - lags.readAtMs
  }
  const watched = parts.servers.map((server) => watchCopy({ ...parts, server, lagOf, onLook: choose }))

  function choose(): void {
    const states = watched.map(({ state }) => state())
    const chosen = chooseCopy(states, currentIndex)
    if (chosen === currentIndex) return
    const from = watched[currentIndex]?.name ?? ''
    currentIndex = chosen
    changes += 1
    onChange(from, currentCopy().name)
  }
  function currentCopy(): WatchedCopy {
    const copy = watched[currentIndex]
    if (!copy) throw new Error('There is no QuestDB server.')
    return copy
  }

  async function refreshLags(): Promise<void> {
    // The time before the query: the answer may be delayed.
    const readAtMs = performance.now()
    lags = { readAtMs, byName: await readLags() }
    choose()
  }

  await Promise.all([refreshLags().catch(() => {}), ...watched.map(({ look }) => look())])
  const ignore = () => {}
  const repeating = [
    repeat(lagEveryMs, refreshLags, ignore),
    ...watched.map(({ look }) => repeat(probeEveryMs, look, ignore)),
  ]
  return {
    current: () => currentCopy().read(),
    report: () =>
      watched.map(({ name, state }, index) => {
        const { answers, lagMs } = state()
        return { name, answers, lagMs: lagMs ?? null, isRead: index === currentIndex }
      }),
    isFresh: () => isEligible(currentCopy().state()),
    changes: () => changes,
    async close() {
      await Promise.all(repeating.map((repeated) => repeated.stop()))
      await Promise.all(watched.map((copy) => copy.close()))
    },
  }
}

type WatchedCopy = {
  name: string
  state(): CopyState
  read(): ReadCopy
  /** Probes the copy once. */
  look(): Promise<void>
  close(): Promise<void>
}

function watchCopy(
  parts: Omit<CopiesParts, 'servers'> & {
    server: QuestdbServer
    lagOf: (name: string) => number | undefined
    onLook: () => void
  },
): WatchedCopy {
  const { server, lagOf, onLook, applicationName, maxConnections } = parts
  const name = server.name ?? ''
  const probe = openCopyProbe(server.pgUrl)
  let failures = 0
  let answers = false
  /** Start of the time in which the copy is sound. */
  let soundFromMs: number | undefined

  const openSession = (): CopySession =>
    openCopySession(server.pgUrl, {
      applicationName,
      maxConnections,
      onAnswer() {
        failures = 0
      },
    })
  let session = openSession()
  // Until the copy answers, its statements fail at once.
  session.abandon()

  function setAnswers(next: boolean): void {
    if (next === answers) return
    answers = next
    if (next) session = openSession()
    else session.abandon()
  }
  function noteSoundness(): void {
    const isSound = answers && (lagOf(name) ?? Number.POSITIVE_INFINITY) < returnLagMs
    soundFromMs = isSound ? (soundFromMs ?? performance.now()) : undefined
  }

  return {
    name,
    state: () => ({
      answers,
      lagMs: lagOf(name),
      soundForMs: soundFromMs === undefined ? 0 : performance.now() - soundFromMs,
    }),
    read: () => ({ name, questdb: session.questdb, lagMs: () => lagOf(name) }),
    async look() {
      const outcome = await probe.probe()
      if (outcome === 'answered') failures = 0
      else failures += outcome === 'refused' ? failuresUntilLost : 1
      if (outcome === 'answered' || failures >= failuresUntilLost) setAnswers(outcome === 'answered')
      noteSoundness()
      onLook()
    },
    async close() {
      session.abandon()
      await probe.close()
    },
  }
}
