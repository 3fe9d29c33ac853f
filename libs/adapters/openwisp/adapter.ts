import { parseRfc3339 } from '#core/rfc3339'
import { type Adapter, type AdapterHead, jsonReply, refuse, type Translation } from '../adapter.ts'
import { createDroppedFields, type DroppedFields } from '../dropped-fields.ts'
import { isRecord, listOf, parseJson } from '../json.ts'
import { compileTable, type MappedFields } from '../mapping.ts'
import { addFields, createSampleSet, tooManySamples, translationOf } from '../sample-set.ts'
import { withStandalone5g } from './derived.ts'
import { deviceTable, interfaceTable, modemTable } from './table.ts'

const prefix = '/adapters/openwisp/api/v1/monitoring/device/'

/** The agent repeats a current report for up to 75 s. If its time is off by more, the router's clock is wrong. */
const longestDeliveryMs = 80_000

const readDevice = compileTable(deviceTable)
const readModem = compileTable(modemTable)
const readInterface = compileTable(interfaceTable)

/**
 * The stock `openwisp-monitoring` agent of OpenWrt. It deletes a report after 200 and 400, and sends it again after every
 * other status. https://github.com/openwisp/openwrt-openwisp-monitoring
 */
export const openwisp: Adapter = {
  source: 'openwisp',
  path: `${prefix}:deviceId/`,
  mediaTypes: ['application/json'],
  authorizationOf: ({ query, authorization }) => {
    const key = new URLSearchParams(query).get('key')
    return key === null ? authorization : `Bearer ${key}`
  },
  deviceIdOf: ({ path }) => path.slice(prefix.length).split('/', 1)[0] ?? '',
  translate,
  answer: ({ accepted, rejected: [first] }) =>
    accepted === 0 && first ? jsonReply(400, { detail: first.detail }) : jsonReply(200, null),
  answerProblem: ({ status, detail }) => jsonReply(status, { detail }),
}

function translate(body: Buffer, { query }: AdapterHead, receivedAtMs: number): Translation {
  const parameters = new URLSearchParams(query)
  const time = parameters.get('time')
  const tsMs = time === null ? undefined : parseTime(time)
  if (tsMs === null) return refuse('Incorrect `time`. Send it as DD-MM-YYYY_HH:MM:SS.ffffff in UTC.')
  const parsed = parseJson(body)
  if (!parsed.ok) return parsed
  if (!isRecord(parsed.value) || parsed.value.type !== 'DeviceMonitoring') {
    return refuse('The body must be an object of the type DeviceMonitoring.')
  }
  const [set, dropped] = [createSampleSet(), createDroppedFields()]
  for (const fields of readReport(parsed.value, dropped))
    if (!addFields(set, fields, tsMs, dropped)) return tooManySamples
  const isCurrent = parameters.get('current')?.toLowerCase() === 'true'
  const isClockWrong = isCurrent && tsMs !== undefined && Math.abs(receivedAtMs - tsMs) > longestDeliveryMs
  const sentAtMs = isClockWrong ? tsMs : undefined
  return translationOf({ set, dropped, receivedAtMs, sentAtMs, isLive: isCurrent })
}

/** Returns the fields of the router and of each modem. */
function readReport(
  { type: _type, interfaces, ...device }: Record<string, unknown>,
  dropped: DroppedFields,
): MappedFields[] {
  const fields = readDevice(device, dropped)
  const modems: MappedFields[] = []
  let clients: number | undefined
  const isSent = interfaces !== undefined && interfaces !== null
  if (isSent && !Array.isArray(interfaces)) dropped.add('interfaces', 'unusable')
  for (const sent of listOf(interfaces)) {
    if (!isRecord(sent)) {
      dropped.add('interfaces', 'unusable')
      continue
    }
    const { type: _kind, ...members } = sent
    const { mobile } = members
    if (isRecord(mobile)) modems.push(readModem({ ...members, mobile: withStandalone5g(mobile) }, dropped))
    else {
      const count = readInterface(members, dropped).get('system')?.get('clients')
      if (typeof count === 'number') clients = (clients ?? 0) + count
    }
  }
  if (clients !== undefined) fields.set('system', (fields.get('system') ?? new Map()).set('clients', clients))
  return [fields, ...modems]
}

const pattern = /^(\d\d)-(\d\d)-(\d{4})_(\d\d:\d\d:\d\d(?:\.\d{1,6})?)$/

/** Returns epoch milliseconds of the agent's time, `23-11-2026_01:02:03.000000`; null if it is invalid. */
function parseTime(text: string): number | null {
  const [, day, month, year, time] = pattern.exec(text) ?? []
  return time === undefined ? null : parseRfc3339(`${year}-${month}-${day}T${time}Z`)
}
