import { noValue, unusable } from '../conversions.ts'
import { isRecord } from '../json.ts'

/** ModemManager's technologies, newest first. */
const technologies: readonly (readonly [string, string])[] = [
  ['lte', 'lte'],
  ['lte-cat-m', 'lte-m'],
  ['lte-nb-iot', 'nb-iot'],
  ['hspa-plus', 'hspa'],
  ['hspa', 'hspa'],
  ['hsupa', 'hspa'],
  ['hsdpa', 'hspa'],
  ['umts', 'umts'],
  ['edge', 'gsm'],
  ['gprs', 'gsm'],
  ['gsm', 'gsm'],
]

/** Returns our word for a list of access technologies. */
export function newestTechnology(list: unknown): unknown {
  if (!Array.isArray(list)) return unusable
  if (list.includes('5gnr')) return list.includes('lte') ? 'nr-nsa' : 'nr-sa'
  return technologies.find(([theirs]) => list.includes(theirs))?.[1] ?? noValue
}

/** Returns the network of a 3GPP location. Its codes are text, because an MNC of "03" is not "3". */
export function plmnOfLocation(location: unknown): unknown {
  if (!isRecord(location)) return unusable
  const [country, network] = [String(location.mcc ?? '--'), String(location.mnc ?? '--')]
  if (country === '--' || network === '--') return noValue
  return /^\d{3}$/.test(country) && /^\d{2,3}$/.test(network) ? country + network : unusable
}
