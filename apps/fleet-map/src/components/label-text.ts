import { jobKindWords, jobStatusWords } from '#core/job-words'
import type { ConfigState, DeviceStatus, JobBatch, JobKind, JobStatus, Quality } from '../api/schemas.ts'

export const statusLook: Record<DeviceStatus, { label: string; color: string; mark: string }> = {
  online: { label: 'Online', color: 'var(--ok)', mark: '●' },
  offline: { label: 'Offline', color: 'var(--text-faint)', mark: '○' },
  provisioning: { label: 'Provisioning', color: 'var(--accent)', mark: '◌' },
  error: { label: 'Error', color: 'var(--bad)', mark: '▲' },
  disabled: { label: 'Disabled', color: 'var(--warn)', mark: '■' },
}

/** Whether a device runs what was applied to it. */
export const configStateLabel: Record<ConfigState, string> = {
  inSync: 'As applied',
  pending: 'Pending',
  differs: 'Changed on the device',
  unknown: 'Not reported',
}

export const deviceStatuses = Object.keys(statusLook) as DeviceStatus[]
export const statusColor = (status: DeviceStatus): string => statusLook[status].color
export const statusLabel = (status: DeviceStatus): string => statusLook[status].label

export const qualityLabel: Record<Quality, string> = {
  none: 'No signal',
  poor: 'Poor',
  fair: 'Fair',
  good: 'Good',
  excellent: 'Excellent',
}

export const jobLook: Record<JobStatus, { label: string; color: string }> = {
  succeeded: { label: jobStatusWords.succeeded, color: 'var(--ok)' },
  inProgress: { label: jobStatusWords.inProgress, color: 'var(--accent)' },
  dispatched: { label: jobStatusWords.dispatched, color: 'color-mix(in srgb, var(--accent) 55%, var(--line))' },
  queued: { label: jobStatusWords.queued, color: 'var(--line-strong)' },
  failed: { label: jobStatusWords.failed, color: 'var(--bad)' },
  rejected: { label: jobStatusWords.rejected, color: 'color-mix(in srgb, var(--bad) 70%, var(--warn))' },
  timedOut: { label: jobStatusWords.timedOut, color: 'var(--warn)' },
  expired: { label: jobStatusWords.expired, color: 'color-mix(in srgb, var(--warn) 60%, var(--line))' },
  cancelled: { label: jobStatusWords.cancelled, color: 'var(--text-faint)' },
}
export const jobStatuses = Object.keys(jobLook) as JobStatus[]

export const batchLabel: Record<JobBatch['status'], string> = {
  scheduled: 'Scheduled',
  running: 'Running',
  paused: 'Paused',
  finished: 'Finished',
  cancelled: 'Cancelled',
}

const kindWords: Record<JobKind, string> = jobKindWords
/** The kinds of jobs by their names in the API. */
export const kindLabel: Record<string, string> = kindWords
