import { plmnOfImsi, plmnOfNumbers } from '#telemetry/report/networks'
import { derived, digits, noValue, unusable } from './conversions.ts'

/**
 * Returns the network of a country code and a network code. Text keeps its digits, because an MNC of "03" or "020" is not 3 or
 * 20. The length of a number follows the list of networks; a pair that is not in it has two digits, or three if the number needs
 * them.
 */
export function plmnOf(mcc: unknown, mnc: unknown): unknown {
  if (isAbsent(mcc) || isAbsent(mnc)) return noValue
  const [country, network] = [mcc === 1 ? '001' : digits.read(mcc), digits.read(mnc)]
  if (typeof country !== 'string' || typeof network !== 'string') return unusable
  if (!/^\d{3}$/.test(country) || !/^\d{1,3}$/.test(network)) return unusable
  if (typeof mnc === 'string' && network.length > 1) return country + network
  return plmnOfNumbers(country, network)
}

/** Routers write these for a code that they do not know. */
const absent: ReadonlySet<unknown> = new Set([undefined, null, '', '--', '-', 'N/A'])
const isAbsent = (code: unknown) => absent.has(typeof code === 'string' ? code.trim() : code)

/** The operator that issued the SIM. */
export const simPlmn = derived('network of its first digits', (imsi) => {
  const sent = digits.read(imsi)
  return typeof sent === 'string' ? (plmnOfImsi(sent) ?? noValue) : unusable
})
