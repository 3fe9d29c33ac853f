import { compileCleaner } from './clean-value.ts'
import { fieldTable, type Kind } from './fields.ts'
import type { CleanRow } from './rows.ts'

/** The fields that tell apart what samples of one time are about. With the device and `ts` they are the key of a row. */
export const sourceFields = {
  cellular: ['modem'],
  connection: ['modem', 'interface'],
  system: [],
  location: [],
} as const satisfies Record<Kind, readonly (keyof typeof cleaners)[]>

const cleaners = {
  modem: compileCleaner(fieldTable.connection.modem),
  interface: compileCleaner(fieldTable.connection.interface),
}

/** What a row is about, as text: rows of one device, kind, time and source are one row. Empty without modem and interface. */
export const sourceOf = (modem: string | null, uplink: string | null): string =>
  uplink === null ? (modem ?? '') : `${modem ?? ''}\0${uplink}`

export function rowSource(row: CleanRow): string {
  if (row.kind === 'cellular') return row.modem ?? ''
  return row.kind === 'connection' ? sourceOf(row.modem, row.interface) : ''
}

/** The source of the row that a sample becomes. */
export function sampleSource(kind: Kind, sample: Record<string, unknown>): string {
  if (kind === 'cellular') return cleanName('modem', sample.modem) ?? ''
  return kind === 'connection'
    ? sourceOf(cleanName('modem', sample.modem), cleanName('interface', sample.interface))
    : ''
}

function cleanName(field: keyof typeof cleaners, value: unknown): string | null {
  if (value === undefined || value === null) return null
  const cleaned = cleaners[field](value)
  return typeof cleaned === 'string' ? cleaned : null
}

/** An RF row's key among the rows of its device. A number for the only modem, because most devices have one. */
export const radioKey = ({ tsMs, modem }: { tsMs: number; modem: string | null }): number | string =>
  modem === null ? tsMs : `${tsMs} ${modem}`

/** The order of RF rows of one device. */
export const byTimeAndModem = (
  a: { tsMs: number; modem: string | null },
  b: { tsMs: number; modem: string | null },
): number => a.tsMs - b.tsMs || (a.modem === b.modem ? 0 : (a.modem ?? '') < (b.modem ?? '') ? -1 : 1)

/** Modems of a device that are told apart. */
export const maxModems = 16
export const maxInterfaces = 32
const maxNameCharacters = fieldTable.connection.modem.maxCharacters ?? 0

/** Returns a function that returns why a sample of one report is about too many modems or interfaces, or null. */
export function createSourceLimits(): (kind: Kind, sample: Record<string, unknown>) => string | null {
  const names = { modem: new Set<string>(), interface: new Set<string>() }
  const isBeyond = (field: keyof typeof names, name: string | null, most: number): boolean => {
    if (name === null || names[field].has(name)) return false
    if (names[field].size >= most) return true
    names[field].add(name)
    return false
  }
  return (kind, sample) => {
    if (kind !== 'cellular' && kind !== 'connection') return null
    const modem = cleanName('modem', sample.modem)
    if (modem !== null && modem.length > maxNameCharacters && [...modem].length > maxNameCharacters)
      return `\`modem\` must be 1 to ${maxNameCharacters} characters, got ${[...modem].length}.`
    if (isBeyond('modem', modem, maxModems)) return `The report has samples of more than ${maxModems} modems.`
    if (kind === 'connection' && isBeyond('interface', cleanName('interface', sample.interface), maxInterfaces))
      return `The report has samples of more than ${maxInterfaces} interfaces.`
    return null
  }
}
