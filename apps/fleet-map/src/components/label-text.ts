import type { ConfigState, DeviceStatus, JobBatch, JobStatus, Quality } from '../api/schemas.ts'

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
  succeeded: { label: 'Succeeded', color: 'var(--ok)' },
  inProgress: { label: 'In progress', color: 'var(--accent)' },
  dispatched: { label: 'Dispatched', color: 'color-mix(in srgb, var(--accent) 55%, var(--line))' },
  queued: { label: 'Queued', color: 'var(--line-strong)' },
  failed: { label: 'Failed', color: 'var(--bad)' },
  rejected: { label: 'Rejected', color: 'color-mix(in srgb, var(--bad) 70%, var(--warn))' },
  timedOut: { label: 'Timed out', color: 'var(--warn)' },
  expired: { label: 'Expired', color: 'color-mix(in srgb, var(--warn) 60%, var(--line))' },
  cancelled: { label: 'Cancelled', color: 'var(--text-faint)' },
}
export const jobStatuses = Object.keys(jobLook) as JobStatus[]

export const batchLabel: Record<JobBatch['status'], string> = {
  scheduled: 'Scheduled',
  running: 'Running',
  paused: 'Paused',
  finished: 'Finished',
  cancelled: 'Cancelled',
}

export const kindLabel: Record<string, string> = {
  reboot: 'Reboot',
  apply_config: 'Apply profile',
  firmware_update: 'Firmware update',
  collect_diagnostics: 'Collect diagnostics',
  speed_test: 'Speed test',
}
