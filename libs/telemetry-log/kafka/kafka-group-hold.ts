import { Admin } from '@platformatic/kafka'
import { pause } from '#core/schedule'
import { clientOptions } from './kafka-client.ts'
import { joinKafkaGroup } from './kafka-group.ts'
import type { KafkaSettings } from './kafka-settings.ts'

/** A consumer group of which this process has all partitions. */
export type HeldGroup = {
  /** Throws if another member has asked for a partition and the time to finish is over. */
  throwIfLost(): void
  release(): Promise<void>
}

const pollMs = 500
/** The session of a killed member, and the time to join. */
const joinWithinMs = 30_000
/** Shorter than the time in which the members of a group must rejoin. */
const finishWithinMs = 10_000

/**
 * Waits up to `withinMs` until the group has no members, then joins it with all of its partitions, so that no writer stores
 * them. Returns undefined if the group still has members. A writer that starts later gets no partition before `release`, or
 * for 10 s. Rejects if no broker responds.
 */
export async function holdKafkaGroup(parts: {
  settings: KafkaSettings
  groupId: string
  partitions: number
  withinMs: number
  /** Called once if the group has members. */
  onWaiting: () => void
}): Promise<HeldGroup | undefined> {
  const { settings, groupId, partitions, withinMs, onWaiting } = parts
  if (!(await becomesEmpty(settings, groupId, withinMs, onWaiting))) return undefined
  const owned = new Set<number>()
  const released = new AbortController()
  let isLost = false
  const group = joinKafkaGroup({
    settings,
    groupId,
    onAssigned(gained) {
      for (const partition of gained) owned.add(partition)
    },
    async onRevoked(lost) {
      await pause(finishWithinMs, released.signal)
      isLost = true
      for (const partition of lost) owned.delete(partition)
    },
    onError() {},
  })
  const giveUpAtMs = performance.now() + joinWithinMs
  while (owned.size < partitions && performance.now() < giveUpAtMs) await pause(pollMs / 5)
  const held: HeldGroup = {
    throwIfLost() {
      if (isLost) throw new Error('A writer has joined the group. Stop it and run this command again.')
    },
    async release() {
      released.abort()
      await group.leave()
    },
  }
  if (owned.size === partitions) return held
  await held.release()
  return undefined
}

async function becomesEmpty(
  settings: KafkaSettings,
  groupId: string,
  withinMs: number,
  onWaiting: () => void,
): Promise<boolean> {
  const admin = new Admin(clientOptions(settings, 'routerfleet-admin'))
  try {
    const giveUpAtMs = performance.now() + withinMs
    for (let polls = 0; ; polls++) {
      if (await isEmpty(admin, groupId)) return true
      if (polls === 0) onWaiting()
      if (performance.now() > giveUpAtMs) return false
      await pause(pollMs)
    }
  } finally {
    await admin.close()
  }
}

const vacant: ReadonlySet<string> = new Set(['EMPTY', 'DEAD'])

async function isEmpty(admin: Admin, groupId: string): Promise<boolean> {
  const groups = await admin.describeGroups({ groups: [groupId] })
  return vacant.has(groups.get(groupId)?.state.toUpperCase() ?? 'DEAD')
}
