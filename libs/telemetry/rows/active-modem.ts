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
 * had service last; else the one that reported last. Of equals the first by name. Undefined without modems.
 */
export function activeModem<Modem extends ModemReports>(modems: readonly Modem[], nowMs: number): Modem | undefined {
  const newestBy = (time: (modem: Modem) => number | null) =>
    modems.reduce<Modem | undefined>((best, modem) => {
      const [own, bestMs] = [time(modem), best ? time(best) : null]
      if (own === null) return best
      const isFirst = bestMs === null || own > bestMs || (own === bestMs && (modem.modem ?? '') < (best?.modem ?? ''))
      return isFirst ? modem : best
    }, undefined)
  return (
    newestBy(({ connectedMs }) =>
      connectedMs !== null && connectedMs >= nowMs - connectedWithinMs ? connectedMs : null,
    ) ??
    newestBy(({ servedMs }) => servedMs) ??
    newestBy(({ newestMs }) => newestMs)
  )
}
