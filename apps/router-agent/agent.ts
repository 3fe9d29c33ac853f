import { randomBytes } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { Clock } from '#core/clock'
import { errorText } from '#core/error-text'
import { pause as pauseFor } from '#core/schedule'
import { createBackoff } from './backoff.ts'
import type { EdgeClient, Enrollment } from './edge-client.ts'
import { createJobRunner } from './job-runner.ts'
import type { Log } from './log.ts'
import { createPacing } from './pacing.ts'
import { createProfileReporter, type ProfileReporter } from './profile/profile-reporter.ts'
import { createProfileTrial } from './profile/profile-trial.ts'
import type { SampleSource } from './sample.ts'
import type { SampleBuffer } from './sample-buffer.ts'
import type { AgentStateFile } from './state-file.ts'
import { createUploader } from './uploader.ts'

/** Why the agent ended: `stop` was called, a recording was sent completely, or a job requests a restart of the router. */
export type AgentEnd = { kind: 'stopped' | 'exhausted' } | { kind: 'restart'; reason: string }

export type Agent = {
  /** Enrolls when needed, then reports and runs jobs until the end. Does not throw for a bad link. */
  run: () => Promise<AgentEnd>
  /** Ends `run`, which writes unsent samples to disk before it resolves. */
  stop: () => void
}

type AgentOptions = {
  /** Creates the client of this run. Its calls end when the signal aborts. */
  connect: (signal: AbortSignal) => EdgeClient
  /** The enrollment to use when the state has no token. */
  enrollment: Enrollment | undefined
  folder: string
  state: AgentStateFile
  buffer: SampleBuffer
  source: SampleSource
  clock: Clock
  random: () => number
  log: Log
  bootedAtMs: number
  reportEveryMs: number
  /** Seconds of a long poll for jobs. With 0, asks for a job only when a telemetry response reports one. */
  longPollSeconds: number
  /** How firmware images are downloaded; by default, as any https request. */
  images?: Dispatcher | undefined
  /** How long the router tries to reach the service with a new config before it restores the previous one. */
  rollBackAfterMs: number
}

const persistEveryMs = 60_000
const enrollmentRefusedWaitMs = 300_000

/** Creates the agent of one router, with a telemetry loop and a job loop. State and buffer survive a restart. */
// Long because both loops share the connection, the pauses and the end of the agent.
export function createAgent(options: AgentOptions): Agent {
  const { enrollment, state, buffer, source, clock, random, log } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const edge = options.connect(signal)
  let end: AgentEnd = { kind: 'stopped' }
  const isPersistDue = createPacing(persistEveryMs)
  let wakeJobLoop: () => void = () => undefined

  const pause = (ms: number): Promise<void> => pauseFor(ms, signal)
  const isStopping = (): boolean => signal.aborted
  const backoff = () => createBackoff({ random })
  const trial = createProfileTrial({ ...options, edge, pause, isStopping })

  function finish(reason: AgentEnd): void {
    end = reason
    stopping.abort()
    wakeJobLoop()
  }

  async function persistWhenDue(): Promise<void> {
    if (isPersistDue(clock())) await persist()
  }

  async function persist(): Promise<void> {
    try {
      await buffer.persist()
    } catch (error) {
      // With a full or broken flash, the router must still report when the link is back.
      log('buffer_not_written', { detail: errorText(error) })
    }
  }

  async function ensureToken(): Promise<string | undefined> {
    const known = state.read().token
    if (known !== undefined) return known
    if (!enrollment) throw new Error('This router has neither a token nor an enrollment key.')
    // Stored before its first use: after a lost response, the service repeats only its response to this nonce.
    const nonce = state.read().enrollmentNonce ?? randomBytes(16).toString('hex')
    await state.update({ enrollmentNonce: nonce })
    const delays = backoff()
    while (!signal.aborted) {
      const answer = await edge.enroll({ ...enrollment, nonce })
      const { deviceId, token } = (answer.body ?? {}) as { deviceId?: unknown; token?: unknown }
      if (answer.status === 201 && typeof deviceId === 'string' && typeof token === 'string' && token !== '') {
        await state.update({ deviceId, token })
        log('enrolled', { deviceId })
        return token
      }
      const refused = answer.status >= 400 && answer.status < 500 && answer.status !== 429
      const waitMs = refused ? enrollmentRefusedWaitMs : delays.next(answer.retryAfterMs)
      log(refused ? 'enrollment_refused' : 'enrollment_delayed', { detail: answer.detail, waitMs: Math.round(waitMs) })
      await pause(waitMs)
    }
    return undefined
  }

  async function reportLoop(token: string, reporter: ProfileReporter): Promise<void> {
    const uploader = createUploader({ edge, token, buffer, persist, backoff: backoff(), clock, log })
    // The clock can be set back: the wait then ends.
    let wait = { sinceMs: 0, ms: 0 }
    while (!signal.aborted) {
      const nowMs = clock()
      buffer.add(source.collect(nowMs))
      const isWaiting = nowMs >= wait.sinceMs && nowMs < wait.sinceMs + wait.ms
      if (isWaiting || !source.isLinkUp(nowMs)) {
        await persistWhenDue()
      } else {
        const result = await uploader.drain()
        wait = { sinceMs: clock(), ms: result.waitMs }
        const hasUnreportedJob = state.read().jobs.some(({ phase, reported }) => phase === 'done' && !reported)
        if (result.jobsPending || (result.sent > 0 && hasUnreportedJob)) wakeJobLoop()
        await trial.settle()
        await reporter.reportWhenDue()
        if (source.isExhausted(nowMs) && buffer.figures().samples === 0) return finish({ kind: 'exhausted' })
      }
      await pause(options.reportEveryMs * (0.9 + random() / 5))
    }
  }

  async function jobLoop(token: string, reporter: ProfileReporter): Promise<void> {
    const runner = createJobRunner({
      ...options,
      edge,
      token,
      backoff: backoff(),
      pause,
      isStopping,
      trial,
      reporter,
      uptimeS: () => Math.round((clock() - options.bootedAtMs) / 1_000),
      bufferFigures: buffer.figures,
    })
    while (!signal.aborted) {
      await runner.reportFinished()
      // Nothing would wake the loop after a stop during the reports.
      if (signal.aborted) return
      if (options.longPollSeconds === 0) await new Promise<void>((resolve) => (wakeJobLoop = resolve))
      else if (!source.isLinkUp(clock())) await pause(1_000)
      if (signal.aborted) return
      for (let turn = await runner.takeOne(options.longPollSeconds); ; ) {
        if (turn.restart) return finish({ kind: 'restart', reason: turn.restart.reason })
        if (!turn.hasRun || signal.aborted) {
          if (turn.waitMs > 0) await pause(turn.waitMs)
          break
        }
        turn = await runner.takeOne(options.longPollSeconds)
      }
    }
  }

  return {
    async run() {
      const token = await ensureToken()
      if (token !== undefined) {
        await trial.resume()
        const reporter = createProfileReporter({ ...options, edge, token, backoff: backoff() })
        await Promise.all([reportLoop(token, reporter), jobLoop(token, reporter)])
        await trial.close()
      }
      await persist()
      return end
    },
    stop: () => finish({ kind: 'stopped' }),
  }
}
