import { setTimeout as delay } from 'node:timers/promises'
import { Consumer } from '@platformatic/kafka'
import type { CommittedOffset } from './kafka-checkpoints.ts'
import { clientOptions } from './kafka-client.ts'
import { openKafkaOffsets } from './kafka-offsets.ts'
import type { KafkaSettings } from './kafka-settings.ts'

export type KafkaGroup = {
  /** Commits for a partition that this member owns. Rejects if it does not, or if no broker responds. */
  commit(partition: number, committed: CommittedOffset): Promise<void>
  /** Returns what the group has committed for a partition; undefined if nothing. */
  committed(partition: number): Promise<CommittedOffset | undefined>
  /** True while this member is in the group. */
  isMember(): boolean
  /** Gives up all partitions and leaves the group. */
  leave(): Promise<void>
}

export type KafkaGroupParts = {
  settings: KafkaSettings
  groupId: string
  /**
   * A name that no other member of the group has. A killed member that joins again with its name gets its partitions back at
   * once, and not after the session.
   */
  memberName?: string | undefined
  sessionTimeoutMs?: number
  /** Called with the partitions that this member has gained. */
  onAssigned: (partitions: readonly number[]) => void
  /**
   * Called with the partitions that this member must give up. No other member gets them until the promise resolves, or until
   * the rebalance times out.
   */
  onRevoked: (partitions: readonly number[]) => Promise<void>
  /** Called when the membership is lost and when no broker responds. The group is joined again. */
  onError: (error: unknown) => void
}

/** A killed member loses its partitions after this time. */
const usualSessionTimeoutMs = 10_000
const heartbeatMs = 2_000
/** Time for all members to give up partitions and to join again. */
const usualRebalanceTimeoutMs = 20_000
const retryPauseMs = 1_000

/**
 * Joins a consumer group on one topic with cooperative-sticky assignment and remains in it until `leave`. A partition that
 * moves is first revoked from its owner and assigned to its new owner in the next round.
 */
export function joinKafkaGroup(parts: KafkaGroupParts): KafkaGroup {
  const { settings, groupId, onAssigned, onRevoked, onError } = parts
  const { topic } = settings
  const leaving = new AbortController()
  let owned = new Set<number>()
  let member: Consumer | undefined
  /** On a connection of its own: a broker answers nothing else on a connection that waits for a rebalance. */
  const offsets = openKafkaOffsets(settings, groupId)

  const assignedTo = (consumer: Consumer) =>
    new Set(consumer.assignments?.find((assignment) => assignment.topic === topic)?.partitions ?? [])

  async function revokeExcept(kept: ReadonlySet<number>): Promise<void> {
    const revoked = [...owned].filter((partition) => !kept.has(partition))
    if (revoked.length > 0) await onRevoked(revoked)
    for (const partition of revoked) owned.delete(partition)
  }

  function gain(consumer: Consumer): void {
    const gained = [...assignedTo(consumer)].filter((partition) => !owned.has(partition))
    owned = new Set([...owned, ...gained])
    if (gained.length > 0) onAssigned(gained)
  }

  /** Resolves when the membership is lost. */
  async function liveAsMember(): Promise<void> {
    // The client waits for this before each join: what is owned and no longer assigned is given up here.
    const consumer: Consumer = openMember(parts, () => revokeExcept(assignedTo(consumer)))
    member = consumer
    try {
      const lost = new Promise<never>((_, reject) => {
        consumer.on('error', reject)
        consumer.on('consumer:heartbeat:stalled', ({ lastError }) =>
          reject(lastError ?? new Error('No heartbeat of the Kafka group succeeds.')),
        )
      })
      const left = new Promise<void>((resolve) => leaving.signal.addEventListener('abort', () => resolve()))
      consumer.on('consumer:group:join', () => gain(consumer))
      await Promise.race([consumer.joinGroup(), lost, left])
      await Promise.race([lost, left])
    } catch (error) {
      onError(error)
    } finally {
      await revokeExcept(new Set())
      member = undefined
      await consumer.close(true).catch(() => {})
    }
  }

  async function live(): Promise<void> {
    while (!leaving.signal.aborted) {
      await liveAsMember()
      await delay(retryPauseMs, undefined, { signal: leaving.signal }).catch(() => {})
    }
  }

  const living = live()
  return {
    async commit(partition, committed) {
      if (!member?.memberId || !owned.has(partition)) throw new Error(`Partition ${partition} has another writer.`)
      const { generationId, memberId } = member
      await offsets.commit(partition, committed, { generationId, memberId })
    },
    committed: offsets.committed,
    isMember: () => member?.isActive() ?? false,
    async leave() {
      leaving.abort()
      await living
      await offsets.close().catch(() => {})
    },
  }
}

/** Opens the connection of a member. `beforeJoin`: the client waits for it before each join. */
function openMember(parts: KafkaGroupParts, beforeJoin: () => Promise<void>): Consumer {
  const { settings, groupId, memberName, sessionTimeoutMs = usualSessionTimeoutMs } = parts
  // A client refuses a shorter time for a rebalance.
  const rebalanceTimeoutMs = Math.max(usualRebalanceTimeoutMs, sessionTimeoutMs)
  const consumer = new Consumer({
    ...clientOptions(settings, 'routerfleet-writer'),
    groupId,
    ...(memberName !== undefined && { groupInstanceId: memberName }),
    // A broker answers a join when all members have joined.
    requestTimeout: rebalanceTimeoutMs + sessionTimeoutMs,
    sessionTimeout: sessionTimeoutMs,
    heartbeatInterval: heartbeatMs,
    heartbeatStallTimeout: 2 * sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    protocols: [{ name: 'cooperative-sticky', version: 3 }],
    protocolsMetadata: async () => {
      await beforeJoin()
      return Buffer.alloc(0)
    },
  })
  consumer.topics.track(settings.topic)
  return consumer
}
