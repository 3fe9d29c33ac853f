import type { Job, JobDelivery } from '../api/schemas.ts'
import { moment } from './format.ts'
import { qualityLabel } from './label-text.ts'

export type HeldReason = NonNullable<Job['heldBecause']>

/** What a job that is held waits for. */
export const heldText: Record<HeldReason, string> = {
  noSignal: 'no signal reported',
  signalTooWeak: 'signal too weak',
  notDwelling: 'not at a stop',
}

/** Formats a delivery as "Good signal or better, at the latest by 3 Dec, 04:00". */
export function deliveryText({ when, minQuality, latestAt, atLatest }: JobDelivery): string {
  const signal = minQuality === 'excellent' ? 'Excellent signal' : `${qualityLabel[minQuality]} signal or better`
  const moments = {
    goodSignal: signal,
    dwell: 'At a stop',
    goodSignalAndDwell: `${signal}, at a stop`,
  }
  if (latestAt === null) return moments[when]
  const end = atLatest === 'expire' ? 'expires' : 'delivered'
  return `${moments[when]}; ${end} at the latest on ${moment(latestAt)}`
}
