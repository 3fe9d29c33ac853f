import { setTimeout as delay } from 'node:timers/promises'
import { allDevices, deviceJobsChannel } from '#fleet/job-dispatch'
import { type Listening, listen } from '#postgres/listen'
import type { Mailbox } from './mailbox.ts'

const retryMs = 1_000

/** Wakes waiting devices when the database says that jobs came; after a gap in what was heard, all of them. */
export function followJobNotices(url: string, mailbox: Mailbox): { stop(): Promise<void> } {
  const stopping = new AbortController()
  let listening: Listening | undefined
  const follow = async () => {
    while (!listening && !stopping.signal.aborted) {
      listening = await listen(
        url,
        [deviceJobsChannel],
        (_channel, payload) => mailbox.wake(payload === allDevices ? undefined : payload.split(',')),
        () => mailbox.wake(),
      ).catch(() => undefined)
      if (!listening) await delay(retryMs, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }
  const following = follow()
  return {
    async stop() {
      stopping.abort()
      await following
      await listening?.stop()
    },
  }
}
