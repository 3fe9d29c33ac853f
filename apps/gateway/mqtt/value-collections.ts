import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { adapterOf } from '#adapters/adapters'
import { isRecord, mergeRecords, parseJson } from '#adapters/json'
import { maxReportBytes } from '#device-edge/contract'
import { type DeviceIdentity, identityHeader } from '#device-edge/gateway'
import type { Delivered } from '../delivery.ts'
import type { Message } from './broker.ts'
import { type LimitedWait, waitAtMost } from './limited-wait.ts'
import { createReportTurns, type ReportTurns } from './report-turns.ts'
import type { TopicRule } from './topic-rules.ts'

/** Values of one device that belong together although each comes in a message of its own. */
type Collection = {
  openedAtMs: number
  /** The modem that the values are of. Undefined if the device has named none. */
  modem: string | undefined
  merged: Record<string, unknown>
  turns: ReportTurns
  /** Set while the values wait for the name of their modem. */
  waiting: LimitedWait | undefined
}

type Report = (body: Buffer, receivedAtMs: number) => Promise<Delivered | undefined>

export type ValueCollections = {
  /**
   * Reports a message together with the values that the device sent in the two seconds before it. Returns undefined if the
   * message must be reported alone.
   */
  deliver(
    device: DeviceIdentity,
    rule: TopicRule,
    message: Message,
    body: Buffer,
    report: Report,
  ): Promise<Delivered | undefined> | undefined
}

/** How long values are collected, from the first. */
const collectMs = 2_000
/** Collections that are kept for messages that the broker delivers again. */
const maxKnown = 5_000
const knownForMs = 60 * 60_000

/**
 * Joins publishers of one value a message. Each message is reported at once, with all values of its collection and the time of
 * the first one: the service stores one row, which each report replaces by a fuller one. So no message waits for its
 * acknowledgement, which would stop a broker that sends few messages at a time. Only the first parts of `mmcli` of a device wait
 * for one that names the modem: a row without a name would be another modem.
 */
export function createValueCollections(nowMs: () => number): ValueCollections {
  const open = new LRUCache<string, Collection>({ max: maxKnown })
  /** The modem that each device has named last; '' if it has named none within two seconds. */
  const lastModems = new LRUCache<string, string>({ max: maxKnown, ttl: knownForMs, ttlResolution: 1_000 })
  const byMessage = new LRUCache<string, Collection>({ max: maxKnown, ttl: knownForMs, ttlResolution: 1_000 })

  const isFresh = (collection: Collection | undefined): collection is Collection =>
    collection !== undefined && nowMs() - collection.openedAtMs < collectMs

  function collectionOf(owner: string, named: string | undefined, rule: TopicRule): Collection {
    const modem = named ?? lastModems.get(owner)
    const key = `${owner} ${modem ?? ''}`
    const last = open.get(key)
    if (isFresh(last)) return last
    const nameless = open.get(`${owner} `)
    if (named !== undefined && isFresh(nameless) && nameless.waiting) {
      open.delete(`${owner} `)
      open.set(key, nameless)
      nameless.modem = named
      nameless.waiting.end()
      return nameless
    }
    const waits = rule.protocol === 'modemmanager' && modem === undefined
    const waiting = waits ? waitAtMost(collectMs, () => lastModems.set(owner, lastModems.get(owner) ?? '')) : undefined
    const turns = createReportTurns()
    const collection = { openedAtMs: nowMs(), modem: modem || undefined, merged: {}, turns, waiting }
    open.set(key, collection)
    return collection
  }

  return {
    deliver(device, rule, { topic, payload, isRepeated }, body, report) {
      const values = isCollected(rule) ? understood(rule, body) : undefined
      if (!values) return undefined
      const key = hash('sha1', `${topic}\n${hash('sha1', payload)}`, 'base64')
      const owner = `${rule.protocol} ${identityHeader(device)}`
      const modem = modemOf(rule, topic, values)
      const collection = (isRepeated ? byMessage.get(key) : undefined) ?? collectionOf(owner, modem, rule)
      if (modem !== undefined) lastModems.set(owner, modem)
      const merged = mergeRecords(collection.merged, withModem(values, collection.modem))
      if (Buffer.byteLength(JSON.stringify(merged)) > maxReportBytes) return undefined
      collection.merged = merged
      byMessage.set(key, collection)
      return collection.turns(async () => {
        await collection.waiting?.until
        return report(Buffer.from(JSON.stringify(collection.merged)), collection.openedAtMs)
      })
    },
  }
}

const isCollected = ({ protocol, parameter }: TopicRule) => parameter === true || protocol === 'modemmanager'

/** Returns the values of a message. Undefined if the service would refuse it: among other values it would look accepted. */
function understood({ protocol }: TopicRule, body: Buffer): Record<string, unknown> | undefined {
  if (protocol === 'routerfleet') return undefined
  const head = { path: '', query: '', authorization: undefined, mediaType: '' }
  if (!adapterOf(protocol).translate(body, head, 0).ok) return undefined
  const values = parseJson(body)
  return values.ok && isRecord(values.value) ? values.value : undefined
}

/** Returns the modem of a message, if it says which: by its D-Bus path, or by a number at the end of its topic. */
function modemOf({ pattern }: TopicRule, topic: string, { modem }: Record<string, unknown>): string | undefined {
  const path = isRecord(modem) ? modem['dbus-path'] : undefined
  if (typeof path === 'string') return path.slice(path.lastIndexOf('/') + 1)
  const level = topic.slice(topic.lastIndexOf('/') + 1)
  return pattern.endsWith('/+') && /^\d+$/.test(level) ? level : undefined
}

/** Names the modem of values that do not. Parts such as `mmcli -m 0 --signal-get -J` have no path. */
const withModem = (values: Record<string, unknown>, index: string | undefined): Record<string, unknown> =>
  index === undefined || !isRecord(values.modem)
    ? values
    : { ...values, modem: { ...values.modem, 'dbus-path': index } }
