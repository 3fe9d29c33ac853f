import type { Clock } from '#core/clock'
import { devicesWithJobs, type HandedOutJob, type JobDevice, takeJobs } from '#fleet/jobs/delivery'
import { coalesce } from '#postgres/coalesce'
import type { FairPool } from '#postgres/fair-pool'

/** Returns the next job of a device, which it takes. `held`: it has jobs, and they wait for a good moment. */
export type TakeJob = (device: JobDevice) => Promise<HandedOutJob | 'held' | undefined>

/** Maximum number of devices per query and per transaction. */
const takenTogether = 200

/**
 * Devices that ask at the same time share a query, which locks nothing. Those that have a job take it in a transaction of
 * their organization: it can wait for rows that other work of the organization has locked, and others must not wait with it.
 */
export function createTakeLine({ pools, clock }: { pools: FairPool; clock: Clock }): TakeJob {
  type Line = { take: (device: JobDevice) => Promise<HandedOutJob | undefined>; users: number }
  const lines = new Map<string, Line>()

  const isAvailable = coalesce(async (devices: readonly JobDevice[]) => {
    const found = await devicesWithJobs(pools.internal('next-jobs'), devices)
    return ({ deviceId }: JobDevice) => found.get(deviceId)
  }, takenTogether)

  const openLine = (organizationId: string): Line => ({
    users: 0,
    take: coalesce(async (devices: readonly JobDevice[]) => {
      const taken = await takeJobs({ pool: pools.of(`org:${organizationId}`), clock }, devices)
      return ({ deviceId }: JobDevice) => taken.get(deviceId)
    }, takenTogether),
  })

  return async (device) => {
    const available = await isAvailable(device)
    if (!available) return available === undefined ? undefined : 'held'
    const { organizationId } = device
    const line = lines.get(organizationId) ?? openLine(organizationId)
    lines.set(organizationId, line)
    line.users += 1
    try {
      return await line.take(device)
    } finally {
      line.users -= 1
      if (line.users === 0) lines.delete(organizationId)
    }
  }
}
