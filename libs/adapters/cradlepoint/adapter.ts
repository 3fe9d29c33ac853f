import { type Adapter, type AdapterHead, type AdapterRejection, refuse, type Translation } from '../adapter.ts'
import { readNumber, unusable } from '../conversions.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, parseJson } from '../json.ts'
import { linesOf } from '../lines.ts'
import { compileTable } from '../mapping.ts'
import { problemReplies } from '../problem-replies.ts'
import { addFields, createSampleSet, type SampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { nearestDay, timeOfDayMs } from '../times.ts'
import { diagnosticsTable, lineTable, services } from './table.ts'

const readLine = compileTable(lineTable)
const readDiagnostics = compileTable(diagnosticsTable)
const maxRejected = 1_000
/** The fields of a line, from its identifier to its address. */
const fieldCount = 15

/** Cradlepoint routers: the lines of their GPS client, or the diagnostics of a modem as JSON. */
export const cradlepoint: Adapter = {
  source: 'cradlepoint',
  path: '/adapters/cradlepoint',
  mediaTypes: undefined,
  translate,
  ...problemReplies,
}

function translate(body: Buffer, _head: AdapterHead, receivedAtMs: number): Translation {
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  const text = body.toString('utf8')
  const isJson = text.trimStart().startsWith('{')
  const read = isJson ? addDiagnostics(body, set, dropped) : addLines(text, set, dropped, receivedAtMs)
  if ('status' in read) return read
  return translationOf({ set, dropped, rejected: read.rejected, receivedAtMs })
}

type Read = { rejected: AdapterRejection[] } | ReturnType<typeof refuse>

function addDiagnostics(body: Buffer, set: SampleSet, dropped: DroppedFields): Read {
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  if (!isRecord(parsed.value)) return refuse('The body must be an object or lines.')
  for (const diagnostics of diagnosticsOf(parsed.value, dropped)) {
    const fields = readDiagnostics(withStandalone5g(diagnostics), dropped)
    if (!addFields(set, fields, undefined, dropped)) return tooManySamples
  }
  return { rejected: [] }
}

/**
 * Returns the diagnostics of each modem: of the net devices of `status/wan/devices` whose names begin with `mdm`, of one of
 * them, or without a device. The router's API puts each of these into `data`.
 */
function diagnosticsOf(body: Record<string, unknown>, dropped: DroppedFields): Record<string, unknown>[] {
  const inner = isRecord(body.data) ? body.data : body
  if (isRecord(inner.diagnostics)) return [ofDevice(inner, recordOf(inner.info).uid)]
  // A modem that does not answer has no diagnostics, only a status.
  const isDevice = (uid: string, { diagnostics, status }: Record<string, unknown>) =>
    isRecord(diagnostics) || (modemUid.test(uid) && isRecord(status))
  const devices = Object.entries(inner).filter(([uid, device]) => isDevice(uid, recordOf(device)))
  if (devices.length === 0) return [inner]
  return devices.flatMap<Record<string, unknown>>(([uid, device]) => {
    if (modemUid.test(uid)) return ofDevice(recordOf(device), uid)
    dropped.add(uid, 'unmapped')
    return []
  })
}

const modemUid = /^mdm/i

const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})

const ofDevice = ({ diagnostics, status }: Record<string, unknown>, uid: unknown): Record<string, unknown> => ({
  ...recordOf(diagnostics),
  uid,
  connection_state: recordOf(status).connection_state,
})

function addLines(text: string, set: SampleSet, dropped: DroppedFields, receivedAtMs: number): Read {
  const rejected: AdapterRejection[] = []
  const lines = linesOf(text)
  if (lines.every((line) => line.trim() === '')) return refuse('The body has no lines.')
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue
    const parts = withCarrier(line.split(','))
    const ofDayMs = timeOfDayMs((parts[1] ?? '').padStart(6, '0'))
    if (parts.length < fieldCount || ofDayMs === undefined) {
      rejected.push({ index, code: 'invalid_sample', detail: `Line ${index + 1} is not a line of the GPS client.` })
      if (rejected.length > maxRejected) return refuse(`More than ${maxRejected} lines cannot be accepted.`)
      continue
    }
    const [, , latitude, ns, longitude, ew, speed, course, carrier, service, rsrp, rssi, rsrq, ecio, wanIp] = parts
    const nearestMs = nearestDay(ofDayMs, receivedAtMs)
    // A receiver that does not know the time sends 0. It is then corrected like other wrong clocks.
    const isUnset = ofDayMs === 0 && Math.abs(nearestMs - receivedAtMs) > midnightWithinMs
    const tsMs = isUnset ? 0 : nearestMs
    const fields = readLine(
      {
        latitude: `${latitude},${ns}`,
        longitude: `${longitude},${ew}`,
        ...{ speed, course, carrier, service, rsrp, rssi, rsrq, ecio, wanIp: wanIp?.trim() },
      },
      dropped,
    )
    const location = fields.get('location')
    if (location?.has('lat')) location.set('fixTs', tsMs).set('source', 'gnss')
    else fields.delete('location')
    if (!addFields(set, fields, tsMs, dropped)) return tooManySamples
  }
  return { rejected }
}

/** The members of a 5G cell. */
const nrMember = /^(?:RSRP|RSRQ|SINR|RFBAND)_5G$/

/** How far from midnight a time of 0 is a time. */
const midnightWithinMs = 300_000
const carrierAt = 8
/** Characters of a service that are looked at. */
const longestService = 100

/** Joins the parts of a carrier whose name has commas, such as `Cellcom, Inc.`: the service or nothing follows it. */
function withCarrier(parts: readonly string[]): readonly string[] {
  const more = parts.slice(carrierAt + 1, carrierAt + 1 + parts.length - fieldCount)
  const ends = more.findIndex((part) => part === '' || services.read(part) !== unusable)
  const extra = ends < 0 ? more.length : ends
  const carrier = parts.slice(carrierAt, carrierAt + 1 + extra).join(',')
  return parts.length <= fieldCount ? parts : parts.toSpliced(carrierAt, 1 + extra, carrier)
}

/**
 * Renames the members of a 5G cell if there is no cell of LTE beside it: they are then the figures of the serving cell. If the
 * router only says 5G, a modem that has no figures of LTE is in standalone mode.
 */
function withStandalone5g(diagnostics: Record<string, unknown>): Record<string, unknown> {
  const { RSRP, RSRP_5G, SRVC_TYPE, SRVC_TYPE_DETAILS } = diagnostics
  const words = [SRVC_TYPE, SRVC_TYPE_DETAILS].filter((part) => typeof part === 'string')
  const service = words.map((part) => part.slice(0, longestService)).join(' ')
  const isBesideLte = readNumber(RSRP) !== unusable
  const isNrAlone = !isBesideLte && readNumber(RSRP_5G) !== unusable
  const isStandalone = /\bSA\b/i.test(service) || (isNrAlone && /\b5G\b/i.test(service) && !/\bNSA\b/i.test(service))
  if (isBesideLte && !isStandalone) return diagnostics
  const members = Object.entries(diagnostics)
    .filter(([name]) => !(isStandalone && Object.hasOwn(diagnostics, `${name}_5G`)))
    .map(([name, value]) => [nrMember.test(name) ? `${name}-alone` : name, value])
  return { ...Object.fromEntries(members), ...(isStandalone ? { SRVC_TYPE: '5G SA' } : {}) }
}
