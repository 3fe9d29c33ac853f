import { type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from '../attack.ts'
import { attackerAddress } from '../attacker-client.ts'
import { seededMap } from '../seeded-map.ts'

/** The query of each stream: every second one is the same, the others differ. */
const questionOf = (index: number): string =>
  index % 2 === 0
    ? 'h3Resolution=9&sinceMinutes=129600'
    : `bbox=-9,51,${-8 + index * 1e-4},52&sinceMinutes=${1_000 + index}`

/** Opens hundreds of event streams with one key. */
export const eventStreams: Attack = {
  name: 'event-streams',
  about: '400 event streams of the fleet map from one key, a quarter of them without reading',
  prepare: seededMap,
  async run(target, { quick, signal }) {
    const { organizationId, adminKey } = await seededMap(target)
    const answers: Record<string, number> = {}
    const count = (answer: string) => {
      answers[answer] = (answers[answer] ?? 0) + 1
    }
    const open = Array.from({ length: 400 }, (_, index) => {
      const sent = request(`${target.url}/fleet/gps/stream?orgId=${organizationId}&${questionOf(index)}`, {
        headers: { authorization: `Bearer ${adminKey}` },
        agent: false,
        ...(attackerAddress === undefined ? {} : { localAddress: attackerAddress }),
      })
      sent.on('error', () => {})
      sent.on('response', (answer: IncomingMessage) => {
        count(String(answer.statusCode))
        answer.on('error', () => {})
        if (index % 4 !== 3) answer.resume()
      })
      sent.end()
      return sent
    })
    try {
      await delay(quick ? 8_000 : 90_000, undefined, { signal }).catch(() => {})
      return { answers }
    } finally {
      for (const sent of open) sent.destroy()
    }
  },
}
