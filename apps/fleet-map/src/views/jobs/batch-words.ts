import type { JobBatch, JobBatchSummary, Rollout, Schedule } from '../../api/schemas.ts'
import { actorText } from '../../components/actor.ts'
import { count, duration, moment, plural } from '../../components/format.ts'
import { type HeldReason, heldText } from '../../components/held-text.ts'
import { batchLabel } from '../../components/label-text.ts'

const pauseWords = {
  operator: 'Paused',
  failures: 'Paused: too many failures',
  stage: 'Waits for confirmation',
} as const

/** The state of a batch in words. */
export const batchState = ({ status, pauseReason }: Pick<JobBatchSummary, 'status' | 'pauseReason'>): string =>
  pauseReason ? pauseWords[pauseReason] : batchLabel[status]

/** How many jobs of a batch wait for a good moment, by what is missing. */
export function heldWords({ held, heldReasons }: Pick<JobBatch, 'held' | 'heldReasons'>): string {
  const reasons = (Object.keys(heldText) as HeldReason[])
    .filter((reason) => heldReasons[reason] > 0)
    .map((reason) => `${count(heldReasons[reason])} ${heldText[reason]}`)
  return `${plural(held, 'job')} ${held === 1 ? 'waits' : 'wait'} for a good moment: ${reasons.join(', ')}`
}

/** What the jobs of a batch carry: the profile and its version, or the firmware; '' for other kinds. */
export function contentOf({ profile, parameters }: Pick<JobBatchSummary, 'profile' | 'parameters'>): string {
  if (profile) return `${profile.name ?? 'Profile'}, version ${profile.version}`
  return typeof parameters.version === 'string' ? `Firmware ${parameters.version}` : ''
}

/** The author of a batch: the name of an API key, or the subject of a user. */
export const authorOf = ({ createdBy, createdByName }: Pick<JobBatchSummary, 'createdBy' | 'createdByName'>): string =>
  actorText(createdBy, createdByName)

/** The devices of a batch that was made for a filter, by what the filter asks for. */
export const matchingText = (filter: string): string =>
  filter === '' ? 'All devices' : `All devices that match: ${filter}`

const skipWords: Record<string, string> = {
  device_disabled: 'The device is disabled',
  model_mismatch: 'The job does not support the model of the device',
  missing_variable: 'A variable of the profile has no value',
  settings_too_large: 'The settings with the values of the device would exceed 256 KiB',
}

/** Why a device is skipped, with the variables that have no value. */
export const skipReason = (reason: string, variables: readonly string[] = []): string =>
  (skipWords[reason] ?? reason) + (variables.length > 0 ? `: ${variables.join(', ')}` : '')

/** When a batch runs. */
export function scheduleWords(schedule: Schedule | null): string {
  if (!schedule) return 'At once'
  const { startAt, window } = schedule
  const days = window?.days ? `${window.days.map((day) => day[0]?.toUpperCase() + day.slice(1)).join(', ')} ` : 'Daily '
  return [
    startAt ? `From ${moment(startAt)}` : '',
    window ? `${days}${window.from}–${window.to} (${window.timeZone})` : '',
  ]
    .filter(Boolean)
    .join(', ')
}

/** The limits of a rollout, one phrase each. */
export function rolloutWords(rollout: Rollout | null): string[] {
  if (!rollout) return ['All devices at once']
  const { maxPerMinute, maxConcurrent, stageWaitMinutes, advanceWhenEndedPct } = rollout
  return [
    maxPerMinute === undefined ? '' : `At most ${count(maxPerMinute)} devices a minute`,
    maxConcurrent === undefined ? '' : `At most ${count(maxConcurrent)} devices at a time`,
    stageWaitMinutes === undefined ? '' : `${duration(stageWaitMinutes * 60)} between stages`,
    advanceWhenEndedPct === undefined ? '' : `Next stage when ${advanceWhenEndedPct} % have ended`,
    rollout.confirmStages ? 'Confirmation after each stage' : '',
    rollout.pauseWhenFailedPct === undefined ? '' : `Pauses at ${rollout.pauseWhenFailedPct} % failures`,
    rollout.abortWhenFailedPct === undefined ? '' : `Cancels the rest at ${rollout.abortWhenFailedPct} % failures`,
  ].filter(Boolean)
}
