import { noValue, readNumber, text, unusable } from '../conversions.ts'
import { isRecord } from '../json.ts'

/** Returns the memory in use, in percent, of `resources.memory`. */
export function usedMemory(memory: unknown): unknown {
  if (!isRecord(memory)) return unusable
  const [total, available] = [readNumber(memory.total), readNumber(memory.available ?? memory.free)]
  if (typeof total !== 'number' || typeof available !== 'number' || total <= 0) return unusable
  return percentOf(total - available, total)
}

const percentOf = (part: number, whole: number) => Math.round((part / whole) * 1_000) / 10

/** Returns the storage in use, in percent, of `resources.disk`. `/rom` is read-only and always full. */
export function usedDisk(disks: unknown): unknown {
  if (!Array.isArray(disks)) return unusable
  const records = disks.filter(isRecord)
  const at = (mountPoint: string) => records.find((disk) => disk.mount_point === mountPoint)
  const disk = at('/overlay') ?? at('/') ?? records[0]
  return disk ? readNumber(disk.used_percent) : noValue
}

/** Addresses that are valid on the link between router and modem only. */
const linkLocal = /^(?:fe[89ab][0-9a-f]:|169\.254\.)/i

/** Returns the first address of `addresses` that others can reach. */
export function firstAddress(addresses: unknown): unknown {
  if (!Array.isArray(addresses)) return unusable
  const sent = addresses.filter(isRecord).map(({ address }) => text.read(address))
  if (sent.length < addresses.length) return unusable
  return sent.find((address) => typeof address !== 'string' || !linkLocal.test(address)) ?? noValue
}

const hasValues = (section: unknown): boolean =>
  isRecord(section) && Object.values(section).some((value) => readNumber(value) !== unusable)

/** Returns our word for the technologies of `mobile.signal` that have values. */
export function ratOfSignal(signal: unknown): unknown {
  if (!isRecord(signal)) return unusable
  if (hasValues(signal['5g'])) return 'nr-nsa'
  if (hasValues(signal['5g-alone'])) return 'nr-sa'
  return ['lte', 'umts', 'gsm'].find((section) => hasValues(signal[section])) ?? noValue
}

/**
 * Renames the section `5g` of `mobile.signal` to `5g-alone` if LTE has no values: the figures of a standalone cell are those
 * of the serving cell, and those of a leg beside LTE are not.
 */
export function withStandalone5g(mobile: unknown): unknown {
  if (!isRecord(mobile) || !isRecord(mobile.signal) || hasValues(mobile.signal.lte)) return mobile
  const { '5g': alone, ...others } = mobile.signal
  return alone === undefined ? mobile : { ...mobile, signal: { ...others, '5g-alone': alone } }
}
