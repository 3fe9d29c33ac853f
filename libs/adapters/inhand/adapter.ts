import type { Kind } from '#telemetry/report/fields'
import { type Adapter, type AdapterHead, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { epochMs } from '../times.ts'
import { flexApiTable } from './table.ts'

const readMessage = compileTable(flexApiTable)

/** InHand vehicle gateways, which publish flat objects whose names have the prefix of their group. */
export const inhand: Adapter = {
  source: 'inhand',
  path: '/adapters/inhand',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

/** The members with the time of each kind. */
const timesOf: Readonly<Record<Kind, readonly string[]>> = {
  cellular: ['modem1.ts'],
  connection: ['modem1.ts'],
  location: ['gnss.ts', 'time'],
  system: ['sysinfo.ts'],
}
const timeMembers = new Set(['modem1.ts', 'sysinfo.ts', 'summary.ts'])

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  if (!isRecord(parsed.value)) return refuse('The body must be an object.')
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  for (const message of messagesOf(parsed.value)) {
    for (const [kind, values] of readMessage(grouped(message), dropped)) {
      const sentMs = [...timesOf[kind], 'summary.ts'].map((name) => epochMs(message[name]))
      const tsMs = sentMs.find((ms) => typeof ms === 'number')
      if (!addFields(set, new Map([[kind, values]]), tsMs, dropped)) return tooManySamples
    }
  }
  return translationOf({ set, dropped, receivedAtMs })
}

const numbered = /^(?:modem|cellular)(\d{1,2})\./

/** Returns the router's own values, and those of each modem under the names of the first one. */
function messagesOf(message: Record<string, unknown>): Record<string, unknown>[] {
  const byNumber = Map.groupBy(Object.entries(message), ([name]) => numbered.exec(name)?.[1])
  return [...byNumber].map(([number, members]) => {
    if (number === undefined) return Object.fromEntries(members)
    const renamed = members.map(([name, value]) => [name.replace(number, '1'), value])
    return { ...Object.fromEntries(renamed), modem: `modem${number}`, 'summary.ts': message['summary.ts'] }
  })
}

/** Returns `{"gnss.hdop": 1}` as `{"gnss": {"hdop": 1}}`, without the times. */
function grouped(message: Record<string, unknown>): Record<string, unknown> {
  const groups = new Map<string, Map<string, unknown>>()
  const single = new Map<string, unknown>()
  for (const [name, value] of Object.entries(message)) {
    if (timeMembers.has(name)) continue
    const dot = name.indexOf('.')
    if (dot < 0) single.set(name, value)
    else {
      const group = groups.get(name.slice(0, dot)) ?? new Map<string, unknown>()
      groups.set(name.slice(0, dot), group.set(name.slice(dot + 1), value))
    }
  }
  const inner = [...groups].map(([name, members]) => [name, Object.fromEntries(members)] as const)
  return Object.fromEntries([...single, ...inner])
}
