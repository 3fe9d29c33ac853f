import { parseSentence } from '#adapters/nmea/sentence'
import { type DeviceIdentity, normalizeIdentity } from '#device-edge/gateway'
import type { PositionProtocol } from '../protocol.ts'

/** What a line of a receiver is. `other`: it is of the protocol, but has no position. `device`: the line names the device, alone or beside a position. */
export type LineKind =
  | { is: 'identity'; device: DeviceIdentity }
  | { is: 'position'; protocol: PositionProtocol; device?: DeviceIdentity }
  | { is: 'other' | 'unknown' }

const imeiLine = /^(?:imei[:=\s]\s*)?(\d{15})$/i
const serialLine = /^(?:serial|sn|id)[:=\s]\s*(\S{1,64})$/i
/** Proprietary sentences that name the sender: `$PCPTI,name,…` of Cradlepoint, `$FRLIN,,imei,…` of GpsGate clients. */
const nameSentence = /^\$P?(?:CPTI|FRLIN),,?([^,*]{1,64})/
/** A router without a position sends its signal only. */
const cradlepointLine = /^([^,]{1,64}),\d{1,6}(?:\.\d*)?,(?:\d+(?:\.\d*)?)?,[NS]?,(?:\d+(?:\.\d*)?)?,[EW]?,/i

/** Returns what a line is. */
export function kindOf(line: string): LineKind {
  if (line.startsWith('{')) return objectKind(line)
  const named = imeiLine.exec(line)?.[1] ?? serialLine.exec(line)?.[1] ?? nameSentence.exec(line)?.[1]
  if (named !== undefined) return identityOf(named)
  if (/^(?:\\[^\\]*\\)?[$!]/.test(line)) return { is: 'position', protocol: 'nmea' }
  const id = cradlepointLine.exec(line)?.[1]
  if (id === undefined) return isSentence(line) ? { is: 'position', protocol: 'nmea' } : { is: 'unknown' }
  const device = deviceOf(id)
  return { is: 'position', protocol: 'cradlepoint', ...(device ? { device } : {}) }
}

/** Returns whether a line ends with a sentence. Receivers can send another protocol between the sentences. */
function isSentence(line: string): boolean {
  const sentence = line.includes('$') ? parseSentence(line) : undefined
  return typeof sentence === 'object' && 'type' in sentence
}

/** Objects of gpsd that hold no position, such as VERSION, are of no use to the service. */
function objectKind(line: string): LineKind {
  const type = /"class"\s*:\s*"([A-Z]{1,16})"/.exec(line)?.[1]
  if (type === undefined) return { is: 'unknown' }
  return type === 'TPV' || type === 'SKY' ? { is: 'position', protocol: 'gpsd' } : { is: 'other' }
}

function identityOf(name: string): LineKind {
  const device = deviceOf(name)
  return device ? { is: 'identity', device } : { is: 'unknown' }
}

/** 15 digits are an IMEI, anything else is a serial. Some routers send zeros instead of an IMEI. */
function deviceOf(name: string): DeviceIdentity | undefined {
  if (/^0*$/.test(name)) return undefined
  return normalizeIdentity('imei', name) ?? normalizeIdentity('serial', name)
}
