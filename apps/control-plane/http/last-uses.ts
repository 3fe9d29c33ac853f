import type { Clock } from '#core/clock'
import { repeat } from '#core/schedule'
import { storeKeyUses, storeSessionUses } from '#fleet/access/last-uses'
import type { Pool } from '#postgres/pool'

/** Notes uses of credentials and stores them together, so that a request does not wait for a write. */
export type LastUses = {
  noteKey(keyId: string): void
  noteSession(sessionId: string): void
  /** Stores what is not stored yet. */
  flush(): Promise<void>
  close(): Promise<void>
}

const storeEveryMs = 10_000
/** A credential in constant use is stored once per minute. */
const precisionMs = 60_000

export function createLastUses(pool: Pool, clock: Clock): LastUses {
  const keys = createNotes(clock)
  const sessions = createNotes(clock)
  const flush = async () => {
    await keys.store((uses) => storeKeyUses(pool, uses))
    await sessions.store((uses) => storeSessionUses(pool, uses))
  }
  // A failed write costs the precision of a time, so the next round is soon enough.
  const storing = repeat(storeEveryMs, flush, () => {})
  return {
    noteKey: keys.note,
    noteSession: sessions.note,
    flush,
    async close() {
      await storing.stop()
      await flush().catch(() => {})
    },
  }
}

function createNotes(clock: Clock) {
  const storedMs = new Map<string, number>()
  let noted = new Map<string, number>()
  return {
    note(id: string): void {
      const nowMs = clock()
      if (nowMs - (storedMs.get(id) ?? 0) >= precisionMs) noted.set(id, nowMs)
    },
    async store(write: (uses: ReadonlyMap<string, number>) => Promise<void>): Promise<void> {
      if (noted.size === 0) return
      const uses = noted
      noted = new Map()
      const outdatedMs = clock() - precisionMs
      for (const [id, ms] of storedMs) if (ms < outdatedMs) storedMs.delete(id)
      await write(uses)
      for (const [id, ms] of uses) storedMs.set(id, ms)
    },
  }
}
