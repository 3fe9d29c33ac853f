import { readFile, stat } from 'node:fs/promises'
import { errorText } from '#core/error-text'
import { settingsDigest, withoutSecrets } from '#core/settings-digest'
import { isCode } from '#files/durable-file'
import type { Backoff } from '../backoff.ts'
import type { EdgeAnswer, EdgeClient, RunningProfile } from '../edge-client.ts'
import type { Log } from '../log.ts'
import type { AgentStateFile, InstalledProfile } from '../state-file.ts'
import { configFile } from './config-file.ts'

/** Reports to the service which profile runs, and whether its settings were changed on the router. */
export type ProfileReporter = {
  /** Requests a report, also when the config file has not changed since the last one. */
  request: () => void
  /** Reports after a start, after a request, and when the config file was changed. Otherwise only reads its time. */
  reportWhenDue: () => Promise<void>
}

type ReporterOptions = {
  edge: EdgeClient
  token: string
  folder: string
  state: AgentStateFile
  backoff: Backoff
  log: Log
}

/** The service refuses larger bodies. Then it learns that the settings differ, but not how. */
const largestBodyBytes = 64 * 1024

/** The same report would be refused again. */
const refusals = new Set([400, 409, 413, 415])

export function createProfileReporter({ edge, token, folder, state, backoff, log }: ReporterOptions): ProfileReporter {
  const file = configFile(folder)
  let requests = 1
  let handledRequests = 0
  let handledMtimeMs = Number.NaN
  let notBeforeMs = 0
  let isRunning = false
  let isUnsupported = false

  /** Undefined while a profile is being applied, or without the digest, which older services do not send. */
  function profileToReport(): (InstalledProfile & { digest: string }) | undefined {
    const { profile, jobs } = state.read()
    if (profile?.digest === undefined) return undefined
    if (jobs.some(({ kind, reported }) => kind === 'apply_config' && !reported)) return undefined
    return { ...profile, digest: profile.digest }
  }

  async function report(): Promise<void> {
    const profile = profileToReport()
    if (!profile) return
    const request = requests
    const mtimeMs = await modifiedAt(file)
    if (request === handledRequests && mtimeMs === handledMtimeMs) return
    const running = runningProfile(profile, await settingsIn(file))
    // An apply may have begun meanwhile.
    if (profileToReport()?.digest !== profile.digest) return
    const answer = await edge.reportConfig(token, running)
    if (isLater(answer)) {
      notBeforeMs = performance.now() + backoff.next(answer.retryAfterMs)
      log('config_report_delayed', { status: answer.status, detail: answer.detail })
      return
    }
    backoff.reset()
    handledRequests = request
    handledMtimeMs = mtimeMs
    isUnsupported = answer.status === 404
    if (isUnsupported) log('config_report_unsupported')
    else if (refusals.has(answer.status)) log('config_report_refused', { detail: answer.detail })
    else log('config_reported', { version: profile.version, isChanged: running.digest !== profile.digest })
  }

  return {
    request: () => {
      requests += 1
    },
    async reportWhenDue() {
      if (isRunning || isUnsupported || performance.now() < notBeforeMs) return
      isRunning = true
      try {
        await report()
      } catch (error) {
        notBeforeMs = performance.now() + backoff.next()
        log('config_not_readable', { detail: errorText(error) })
      } finally {
        isRunning = false
      }
    },
  }
}

const isLater = ({ status }: EdgeAnswer): boolean => status !== 200 && status !== 404 && !refusals.has(status)

function runningProfile(profile: InstalledProfile, settings: Record<string, unknown>): RunningProfile {
  const visible = withoutSecrets(settings, profile.secrets ?? [])
  const digest = settingsDigest(visible)
  const running = { profileId: profile.id, version: profile.version, digest }
  if (digest === profile.digest) return running
  const withSettings = { ...running, settings: visible }
  return Buffer.byteLength(JSON.stringify(withSettings)) <= largestBodyBytes ? withSettings : running
}

/** 0 for a file that was deleted. */
const modifiedAt = async (file: string): Promise<number> => (await stat(file).catch(ignoreMissing))?.mtimeMs ?? 0

/** The settings in the config file; none if it was deleted. Throws if it is not a config. */
async function settingsIn(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch(ignoreMissing)
  if (text === undefined) return {}
  const { settings } = (JSON.parse(text) ?? {}) as { settings?: unknown }
  if (typeof settings !== 'object' || settings === null || Array.isArray(settings)) {
    throw new Error('config.json has no settings.')
  }
  return settings as Record<string, unknown>
}

function ignoreMissing(error: unknown): undefined {
  if (!isCode(error, 'ENOENT')) throw error
}
