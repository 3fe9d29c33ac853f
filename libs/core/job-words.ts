/** The kinds of jobs in words. */
export const jobKindWords = {
  reboot: 'Reboot',
  apply_config: 'Apply profile',
  firmware_update: 'Firmware update',
  collect_diagnostics: 'Collect diagnostics',
  speed_test: 'Speed test',
} as const

/** The states of jobs in words. */
export const jobStatusWords = {
  succeeded: 'Succeeded',
  inProgress: 'In progress',
  dispatched: 'Dispatched',
  queued: 'Queued',
  failed: 'Failed',
  rejected: 'Rejected',
  timedOut: 'Timed out',
  expired: 'Expired',
  cancelled: 'Cancelled',
} as const
