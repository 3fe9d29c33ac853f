import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '#core/ids'
import { deviceChangedChannel, sendNotice } from '#fleet/notices'
import { coalesce } from '#postgres/coalesce'
import type { ChannelListener } from '#postgres/listen'
import type { Pool } from '#postgres/pool'
import type { AccessSubject, DeviceAccess } from './device-access.ts'

const heartbeatMs = 1_500
const refreshedTogether = 5_000

/** Receives notices until it is stopped. */
export type AccessNotices = ChannelListener & { stop(): Promise<void> }

/**
 * Keeps device access consistent with the database. Each notice refreshes the device or organization that it names. A
 * heartbeat on the same channel proves that notices arrive. While it does not return, every beat refreshes all cached
 * tokens, so that a revocation takes effect within 5 s even if the connection is broken. While Postgres is unavailable,
 * cached tokens remain valid.
 */
export function followAccessNotices(pool: Pool, access: DeviceAccess): AccessNotices {
  // Other instances send heartbeats on the same channel.
  const instance = newId()
  let heard = 0
  let sent = 0
  const stopping = new AbortController()
  const refreshAll = () => void access.refresh().catch(() => {})
  // One import can change a thousand devices. Notices that arrive during a refresh share the next one.
  const refreshNamed = coalesce(async (subjects: readonly AccessSubject[]) => {
    await access.refresh(subjects)
    return () => undefined
  }, refreshedTogether)
  const refresh = (subject: AccessSubject) => void refreshNamed(subject).catch(() => {})

  const onNotice = (payload: string): void => {
    const [subject, id, beat] = payload.split(':')
    if (subject === 'beat') heard = id === instance ? Math.max(heard, Number(beat)) : heard
    else if (subject === 'organization' && id) refresh({ organizationId: id })
    else if (subject) refresh({ deviceId: subject })
    else refreshAll()
  }

  async function follow(): Promise<void> {
    while (!stopping.signal.aborted) {
      if (heard < sent) await access.refresh().catch(() => {})
      sent += 1
      await sendNotice(pool, deviceChangedChannel, `beat:${instance}:${sent}`).catch(() => {})
      await delay(heartbeatMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

  const following = follow()
  return {
    channel: deviceChangedChannel,
    onNotice,
    onGap: refreshAll,
    async stop() {
      stopping.abort()
      await following
    },
  }
}
