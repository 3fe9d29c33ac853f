import { type Adapter, type AdapterHead, type Refused, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields } from '../dropped-fields.ts'
import { isRecord, mergeRecords, parseJson } from '../json.ts'
import { linesOf } from '../lines.ts'
import { isHeard } from '../lost-service.ts'
import { compileTable, type MappedFields } from '../mapping.ts'
import { withStandalone5g } from '../openwisp/derived.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { modemManagerTable } from './table.ts'

const readModem = compileTable(modemManagerTable)

/** The output of `mmcli -J`, as scripts publish it. It has no time, so its time is that of receipt. */
export const modemmanager: Adapter = {
  source: 'modemmanager',
  path: '/adapters/modemmanager',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

/** Sixteen modems in four parts. */
const maxObjects = 64

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const parsed = parseObjects(body)
  if (!parsed.ok) return parsed
  if (parsed.objects.length > maxObjects) return refuse(`The body may have at most ${maxObjects} objects.`)
  const modems: Record<string, unknown>[] = []
  for (const object of parsed.objects) {
    if (!isRecord(object) || !isRecord(object.modem)) return refuse('The body must have the object `modem`.')
    modems.push(object.modem)
  }
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  for (const modem of joined(modems)) {
    const fields = readModem(withStandalone5g(modem), dropped)
    // A modem without a fix has an altitude at most.
    if (!fields.get('location')?.has('lat')) fields.delete('location')
    if (isWithoutRadio(fields)) fields.delete('cellular')
    if (!addFields(set, fields, undefined, dropped)) return tooManySamples
  }
  return translationOf({ set, dropped, receivedAtMs })
}

const idleStates: ReadonlySet<unknown> = new Set(['failed', 'disabled', 'disconnected'])
const served: ReadonlySet<unknown> = new Set(['home', 'roaming'])

/**
 * Returns whether a modem has failed, as without a SIM, or is not switched on, and hears no cell. Its signal quality of 0 is not
 * measured: without a technology, the sample would count as one with service.
 */
function isWithoutRadio(fields: MappedFields): boolean {
  const [cellular, connection] = [fields.get('cellular') ?? new Map(), fields.get('connection') ?? new Map()]
  const isIdle = idleStates.has(connection.get('state')) && !served.has(connection.get('registration'))
  return isIdle && !isHeard(Object.fromEntries(cellular))
}

/** Returns the objects of a body: one, a list, or one a line as a script prints them for several modems or parts. */
function parseObjects(body: Buffer): { ok: true; objects: readonly unknown[] } | Refused {
  const whole = parseJson(body)
  if (whole.ok) return { ok: true, objects: Array.isArray(whole.value) ? whole.value : [whole.value] }
  const objects: unknown[] = []
  for (const line of linesOf(body.toString('utf8'))) {
    if (line.trim() === '') continue
    const parsed = parseJson(Buffer.from(line))
    if (!parsed.ok) return whole
    objects.push(parsed.value)
    if (objects.length > maxObjects) break
  }
  return objects.length === 0 ? whole : { ok: true, objects }
}

/**
 * Joins the parts of each modem. Only the output of `mmcli -m N -J` alone names the modem; other parts belong to the modem
 * before them, or to the first one that is named.
 */
function joined(parts: readonly Record<string, unknown>[]): Iterable<Record<string, unknown>> {
  const nameOf = (part: Record<string, unknown>) => part['dbus-path']
  const modems = new Map<unknown, Record<string, unknown>>()
  let name = parts.map(nameOf).find((path) => path !== undefined)
  for (const part of parts) {
    name = nameOf(part) ?? name
    modems.set(name, mergeRecords(modems.get(name) ?? {}, part))
  }
  return modems.values()
}
