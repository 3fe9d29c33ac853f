/** What a modem last reported. Times are epoch milliseconds, null if there was no such sample. */
export type ModemReports = {
  modem: string | null
  /** Its newest connection sample that is connected. */
  connectedMs: number | null
  /** Its newest cellular sample with service. */
  servedMs: number | null
  newestMs: number
}

/** A modem that was connected within this time may be the active one. */
export const connectedWithinMs = 15 * 60_000

/**
 * Returns the active modem of a device: the one that was connected last, if that was in the last 15 minutes; else the one that
 * had service last; else the one that reported last. Of equals the first by name. Undefined without modems. Beside named modems,
 * a connection without a name says nothing about them: it can be a wired uplink.
 */
export function activeModem<Modem extends ModemReports>(modems: readonly Modem[], nowMs: number): Modem | undefined {
  // As most devices have: no time is spent on them in lists of a whole fleet.
  if (modems.length < 2) return modems[0]
  const sinceMs = nowMs - connectedWithinMs
  const isAlone = modems.every(({ modem }) => modem === null)
  const servedSince = (ms: number) =>
    modems.filter((each) => isAlone || each.modem !== null || (each.servedMs ?? -1) >= ms)
  const newestBy = (time: (modem: Modem) => number | null, among = servedSince(0)) =>
    among.reduce<Modem | undefined>((best, modem) => {
      const [own, bestMs] = [time(modem), best ? time(best) : null]
      if (own === null) return best
      const isFirst = bestMs === null || own > bestMs || (own === bestMs && (modem.modem ?? '') < (best?.modem ?? ''))
      return isFirst ? modem : best
    }, undefined)
  return (
    newestBy(
      ({ connectedMs }) => (connectedMs !== null && connectedMs >= sinceMs ? connectedMs : null),
      servedSince(sinceMs),
    ) ??
    newestBy(({ servedMs }) => servedMs) ??
    newestBy(({ newestMs }) => newestMs)
  )
}
