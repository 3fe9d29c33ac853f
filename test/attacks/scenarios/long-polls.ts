import { randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

/** Opens many concurrent long polls per router. */
export const longPolls: Attack = {
  name: 'long-polls',
  about: '900 long polls for jobs from 30 devices, opened and abandoned',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const endMs = Date.now() + (quick ? 6_000 : 70_000)
    const poll = async (index: number) => {
      const device = attacker.devices[index % attacker.devices.length]
      while (Date.now() < endMs && !signal.aborted) {
        const answer = await client.call({
          url: `${url}/device/jobs/next?waitSeconds=55`,
          headers: { authorization: `Bearer ${device?.token}` },
          signal: AbortSignal.timeout(Math.max(1, Math.min(randomInt(500, 6_500), endMs - Date.now()))),
        })
        if (answer?.status === 429) await delay(500)
      }
    }
    try {
      await Promise.all(Array.from({ length: 900 }, (_, index) => poll(index)))
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
