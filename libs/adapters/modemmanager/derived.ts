import { modemName, noValue, unusable } from '../conversions.ts'
import { isRecord } from '../json.ts'
import { plmnOf } from '../plmn.ts'

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
  ['td-scdma', 'umts'],
  ['edge', 'gsm'],
  ['gprs', 'gsm'],
  ['gsm', 'gsm'],
  ['gsm-compact', 'gsm'],
]

/** Returns our word for a list of access technologies. */
export function newestTechnology(list: unknown): unknown {
  if (!Array.isArray(list)) return unusable
  const names = list.map((name) => String(name).toLowerCase())
  if (names.includes('5gnr')) return names.includes('lte') ? 'nr-nsa' : 'nr-sa'
  const known = technologies.find(([theirs]) => names.includes(theirs))
  return known?.[1] ?? (names.every((name) => name === 'unknown') ? noValue : unusable)
}

/** Returns the network of a 3GPP location. */
export const plmnOfLocation = (location: unknown): unknown =>
  isRecord(location) ? plmnOf(location.mcc, location.mnc) : unusable

/** Returns the index of a modem, by which `mmcli` names it: the last part of `/org/freedesktop/ModemManager1/Modem/0`. */
export const modemIndex = (path: unknown): unknown =>
  typeof path === 'string' ? modemName.read(path.slice(path.lastIndexOf('/') + 1)) : unusable
