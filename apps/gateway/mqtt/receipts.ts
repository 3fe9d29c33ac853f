import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'

const maxKnown = 50_000
const knownForMs = 60 * 60_000

/**
 * Returns the function that gives each message its time of receipt. A message that the broker delivers again has the time of
 * its first delivery: samples without a time are then stored once. Known for an hour, unless the process ends.
 */
export function createReceipts(nowMs: () => number): (topic: string, payload: Buffer, isRepeated: boolean) => number {
  const known = new LRUCache<string, number>({ max: maxKnown, ttl: knownForMs, ttlResolution: 1_000 })
  return (topic, payload, isRepeated) => {
    const key = hash('sha1', `${topic}\n${hash('sha1', payload)}`, 'base64')
    const receivedAtMs = (isRepeated ? known.get(key) : undefined) ?? nowMs()
    known.set(key, receivedAtMs)
    return receivedAtMs
  }
}
