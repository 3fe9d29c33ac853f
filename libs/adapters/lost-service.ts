import type { AdapterSample } from './adapter-sample.ts'

/** States of a modem that has no network. */
const lost: ReadonlySet<unknown> = new Set(['searching', 'denied', 'not_registered'])

/** Returns whether a modem hears a cell. */
export const isHeard = (cellular: Record<string, unknown>): boolean =>
  ['rat', 'rssiDbm', 'rsrpDbm', 'nrRsrpDbm'].some((name) => cellular[name] !== undefined)

/**
 * Sets `rat: none` for a modem that says that it is not registered and has neither a technology nor a signal: without `rat`, it would
 * count as one with service. Adds samples as long as there are less than `maxSamples`.
 */
export function nameLostService(samples: AdapterSample[], maxSamples: number): void {
  const momentOf = ({ modem, ts }: AdapterSample) => `${modem} ${ts}`
  const connections = samples.filter(({ kind }) => kind === 'connection')
  const isLost = ({ registration, state }: AdapterSample) =>
    lost.has(registration) || (lost.has(state) && registration !== 'home' && registration !== 'roaming')
  const radio = new Map(samples.filter(({ kind }) => kind === 'cellular').map((sample) => [momentOf(sample), sample]))
  for (const connection of connections.filter(isLost)) {
    const sample = radio.get(momentOf(connection))
    if (sample && !isHeard(sample)) sample.rat = 'none'
    const { modem, ts } = connection
    if (!sample && samples.length < maxSamples)
      samples.push({
        kind: 'cellular',
        ...(ts !== undefined && { ts }),
        ...(modem !== undefined && { modem }),
        rat: 'none',
      })
  }
}
