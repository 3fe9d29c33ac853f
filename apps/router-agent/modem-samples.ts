import { isRecord } from '#adapters/json'
import { modemmanager } from '#adapters/modemmanager/adapter'
import { plmnOfImsi } from '#telemetry/report/networks'
import type { Sample } from './sample.ts'

/** The objects that `mmcli -J` prints about one modem and its SIM; null for what it did not answer. */
export type ModemAnswers = { details: unknown; signal: unknown; card: unknown }

/** What the kernel knows of a network interface. */
export type InterfaceCounters = { rxBytes: number; txBytes: number }

/** Returns the value at a path of members, null if there is none. ModemManager writes `--` for none. */
export function valueAt(answer: unknown, ...path: string[]): unknown {
  const value = path.reduce((parent: unknown, name) => (isRecord(parent) ? parent[name] : undefined), answer)
  return value === undefined || value === '' || value === '--' ? null : value
}

const textAt = (answer: unknown, ...path: string[]): string | null => {
  const value = valueAt(answer, ...path)
  return typeof value === 'string' ? value : null
}

/**
 * Returns the network interface of a modem, such as `wwan0`, or its port if it has none. It is the name of the modem: an index of
 * ModemManager changes with each restart of the modem.
 */
export function interfaceOf(details: unknown): string | null {
  const ports = valueAt(details, 'modem', 'generic', 'ports')
  const networks = Array.isArray(ports) ? ports.flatMap((port) => /^(\S+) \(net\)$/.exec(String(port))?.[1] ?? []) : []
  return networks[0] ?? textAt(details, 'modem', 'generic', 'primary-port')
}

const head = { path: modemmanager.path, query: '', authorization: undefined, mediaType: 'application/json' }
const aboutModem: ReadonlySet<string> = new Set(['kind', 'ts', 'modem', 'simPlmn'])

/** Returns the samples of one modem, as the service translates the output of ModemManager; none if it answered nothing. */
export function modemSamples(
  name: string,
  { details, signal, card }: ModemAnswers,
  counters: InterfaceCounters | null,
  ts: number,
): Sample[] {
  const joined = [details, signal].map((answer) => valueAt(answer, 'modem')).filter(isRecord)
  const body = Buffer.from(JSON.stringify({ modem: Object.assign({}, ...joined) }))
  const translation = modemmanager.translate(body, head, ts)
  if (!translation.ok || !translation.envelope) return []
  const { samples } = JSON.parse(translation.envelope.toString()) as { samples: Sample[] }
  const simPlmn = simPlmnOf(card)
  const about = { modem: name, ...(simPlmn === null ? {} : { simPlmn }) }
  const cellular: Sample = { kind: 'cellular', ts, ...samples.find(({ kind }) => kind === 'cellular'), ...about }
  const connection = { kind: 'connection' as const, ts, ...samples.find(({ kind }) => kind === 'connection'), ...about }
  const uplink = counters === null ? {} : { interface: name, ...counters }
  return [cellular, { ...connection, ...uplink }].filter((sample) =>
    Object.keys(sample).some((field) => !aboutModem.has(field)),
  )
}

function simPlmnOf(card: unknown): string | null {
  const operator = textAt(card, 'sim', 'properties', 'operator-code')
  if (operator !== null && /^\d{5,6}$/.test(operator)) return operator
  return plmnOfImsi(textAt(card, 'sim', 'properties', 'imsi') ?? '')
}
