import { readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errorText } from '#core/error-text'
import { isCode, replaceFile, sync } from '#files/durable-file'
import type { EdgeClient } from '../edge-client.ts'
import type { Log } from '../log.ts'
import {
  type AgentStateFile,
  type FinalReport,
  type InstalledProfile,
  interrupted,
  rolledBackCode,
} from '../state-file.ts'
import { configFile } from './config-file.ts'

/** Applies config profiles, and restores the previous config when the service cannot be reached with the new one. */
export type ProfileTrial = {
  /** Replaces the config of the router, keeps the previous one, and begins the trial of the new one. */
  begin: (job: { id: string; attempt: number }, profile: InstalledProfile, settings: object) => Promise<void>
  /** Waits for contact in the background and rolls back without it. Does nothing if there is no trial. */
  watch: () => void
  /** Ends the trial if the service has answered a call that began after the apply. Does not throw. */
  settle: () => Promise<void>
  /** After a start: continues a trial or a roll-back, and undoes an apply that was interrupted. */
  resume: () => Promise<void>
  /** Resolves when the trial writes nothing more. Call it after the pauses have ended. */
  close: () => Promise<void>
}

type TrialOptions = {
  edge: Pick<EdgeClient, 'lastContactMs'>
  folder: string
  state: AgentStateFile
  /** How long the agent tries to reach the service before it rolls back. The time that the agent is off does not count. */
  rollBackAfterMs: number
  pause: (ms: number) => Promise<void>
  isStopping: () => boolean
  log: Log
}

/** How often the elapsed time is stored, so that a router that restarts again and again also rolls back. */
const saveEveryMs = 60_000

// Long because begin, watch, settle and resume change one trial.
export function createProfileTrial(options: TrialOptions): ProfileTrial {
  const { edge, folder, state, rollBackAfterMs, pause, isStopping, log } = options
  const current = configFile(folder)
  const previous = join(folder, 'config.previous.json')
  /** When the new config became active, on the monotonic clock: the time of day may jump after an apply. */
  let activeAtMs = Number.POSITIVE_INFINITY
  let lastSettled = Promise.resolve()
  let lastWatch = Promise.resolve()

  const recordOf = (job: { id: string; attempt: number }) =>
    state.read().jobs.find(({ id, attempt }) => id === job.id && attempt === job.attempt)

  /** Stores the result of the job first, so that a restart in between continues the roll-back. */
  async function rollBack(report: FinalReport): Promise<void> {
    const { trial, jobs } = state.read()
    if (!trial) return
    const record = recordOf(trial.job)
    const failed = jobs.map((job) =>
      job === record ? { ...job, phase: 'done' as const, report, reported: false } : job,
    )
    await state.update({ trial: { ...trial, isRestoring: true }, jobs: failed })
    await restore()
  }

  async function restore(): Promise<void> {
    const { trial } = state.read()
    if (!trial) return
    // Missing when an interrupted restore had already renamed it.
    if (trial.hasPrevious) await ignoreMissing(rename(previous, current))
    else await rm(current, { force: true })
    await sync(dirname(current))
    await state.update({ trial: undefined, profile: trial.previous })
    log('config_rolled_back', { job: trial.job.id })
  }

  function lostContact(hasPrevious: boolean): FinalReport {
    const seconds = Math.round(rollBackAfterMs / 1_000)
    const action = hasPrevious ? 'restored the previous config' : 'removed the config; there was no previous one'
    const detail = `The service did not answer for ${seconds} s after the config was applied. The router ${action}.`
    return { status: 'failed', code: rolledBackCode, detail }
  }

  async function waitForContact(jobKey: string): Promise<void> {
    let countedAtMs = performance.now()
    for (;;) {
      const before = state.read().trial
      if (!before) return
      await pause(Math.min(saveEveryMs, Math.max(1, rollBackAfterMs - before.waitedMs)))
      await settle()
      const { trial } = state.read()
      if (!trial || keyOf(trial.job) !== jobKey) return
      const waitedMs = trial.waitedMs + performance.now() - countedAtMs
      countedAtMs = performance.now()
      try {
        if (trial.isRestoring) await restore()
        else if (waitedMs >= rollBackAfterMs) await rollBack(lostContact(trial.hasPrevious))
        else await state.update({ trial: { ...trial, waitedMs } })
      } catch (error) {
        // A full disk may have space again later.
        log('config_not_restored', { detail: errorText(error) })
        if (!isStopping()) await pause(saveEveryMs)
      }
      if (isStopping()) return
    }
  }

  function watch(): void {
    const { trial } = state.read()
    if (trial) lastWatch = waitForContact(keyOf(trial.job))
  }

  async function settle(): Promise<void> {
    const { trial } = state.read()
    if (!trial || trial.isRestoring || edge.lastContactMs() < activeAtMs) return lastSettled
    log('config_kept', { job: trial.job.id })
    lastSettled = state
      .update({ trial: undefined })
      .then(() => rm(previous, { force: true }))
      .catch((error) => log('previous_config_not_removed', { detail: errorText(error) }))
    return lastSettled
  }

  return {
    async begin(job, profile, settings) {
      await settle()
      const text = await ignoreMissing(readFile(current, 'utf8'))
      if (text !== undefined) await replaceFile(previous, text)
      activeAtMs = Number.POSITIVE_INFINITY
      const { id, attempt } = job
      const before = { previous: state.read().profile, hasPrevious: text !== undefined }
      await state.update({ trial: { job: { id, attempt }, ...before, waitedMs: 0, isRestoring: false } })
      try {
        await replaceFile(current, JSON.stringify({ id: profile.id, version: profile.version, settings }))
      } catch (error) {
        await state.update({ trial: undefined })
        throw error
      }
      activeAtMs = performance.now()
      await state.update({ profile })
    },
    watch,
    settle,
    async resume() {
      const { trial } = state.read()
      if (!trial) return
      activeAtMs = performance.now()
      try {
        if (trial.isRestoring) await restore()
        else if (!recordOf(trial.job)?.report) await rollBack(interrupted())
      } catch (error) {
        log('config_not_restored', { detail: errorText(error) })
      }
      watch()
    },
    async close() {
      await lastWatch
      await lastSettled
    },
  }
}

const keyOf = ({ id, attempt }: { id: string; attempt: number }): string => `${id} ${attempt}`

const ignoreMissing = <Value>(work: Promise<Value>): Promise<Value | undefined> =>
  work.catch((error: unknown) => {
    if (!isCode(error, 'ENOENT')) throw error
    return undefined
  })
