import { setTimeout as delay } from 'node:timers/promises'
import { newId } from '#core/ids'
import { deviceChangedChannel } from '#fleet/notices'
import type { ChannelListener } from '#postgres/listen'
import type { Pool } from '#postgres/pool'
import { coalesce } from '#queue/coalesce'
import type { AccessSubject, DeviceAccess } from './device-access.ts'

const heartbeatMs = 1_500
const refreshedTogether = 5_000

/** Hears of changes for as long as it is not stopped. */
export type AccessNotices = ChannelListener & { stop(): Promise<void> }

/**
 * Keeps device access true to the database: every notice refreshes what it names, and a heartbeat sent through the same
 * channel proves that notices arrive. While the heartbeat does not come back, all known tokens are looked up at every
 * beat, so that a revocation counts within 5 s whatever happened to the connection. While Postgres is away, what is
 * known stays.
 */
export function followAccessNotices(pool: Pool, access: DeviceAccess): AccessNotices {
  // Other replicas beat on the same channel.
  const instance = newId()
  let heard = 0
  let sent = 0
  const stopping = new AbortController()
  const refreshAll = () => void access.refresh().catch(() => {})
  // Somebody may change a thousand devices in a minute; what is named while a refresh runs is refreshed together.
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
      await pool.query('SELECT pg_notify($1, $2)', [deviceChangedChannel, `beat:${instance}:${sent}`]).catch(() => {})
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
