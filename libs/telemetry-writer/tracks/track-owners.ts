import type { Arrival } from '#questdb/writer/device-tracks'

/** The organization that owned the device when fixes arrived, and the time of the newest of these fixes. */
type Owner = Arrival & { newestFixMs: number }

/** Who owned the device. `previous`: before the last transfer. */
export type Owners = { present: Owner | undefined; previous: Owner | undefined }

export const noOwners: Owners = { present: undefined, previous: undefined }

/** Returns the owners after fixes arrived. */
export function withFixes(
  { present, previous }: Owners,
  { organizationId, receivedAtMs }: Arrival,
  fixes: readonly { tsMs: number }[],
): Owners {
  if (fixes.length === 0) return { present, previous }
  const isSame = present?.organizationId === organizationId
  const newestFixMs = fixes.reduce((newest, { tsMs }) => Math.max(newest, tsMs), isSame ? present.newestFixMs : 0)
  return {
    present: { organizationId, receivedAtMs, newestFixMs },
    previous: present && !isSame ? present : previous,
  }
}

/** A dwell belongs to the organization that owned the device at its arrival, even if it continues after a transfer. */
export function ownerAt({ previous }: Owners, arrivedAtMs: number, now: Arrival): Arrival {
  const { organizationId, receivedAtMs } = previous && arrivedAtMs <= previous.newestFixMs ? previous : now
  return { organizationId, receivedAtMs }
}
