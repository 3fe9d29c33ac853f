/** A time in which a modem had service all the time, or none. */
export type ServiceTime = { hasService: boolean; fromMs: number; toMs: number }

type Times = { fromMs: number; toMs: number }

/**
 * The times in which a device had no service, newest first: at least one of its modems had none, and none of them had service. A modem
 * that did not report in a time does not count. `modems`: the times of all modems, in any order.
 */
export function timesWithoutService(modems: readonly ServiceTime[]): Times[] {
  const changes = modems
    .filter(({ fromMs, toMs }) => fromMs < toMs)
    .flatMap(({ hasService, fromMs, toMs }) => [
      { atMs: fromMs, hasService, by: 1 },
      { atMs: toMs, hasService, by: -1 },
    ])
    .sort((a, b) => a.atMs - b.atMs)
  const times: Times[] = []
  let [served, lost] = [0, 0]
  changes.forEach(({ atMs, hasService, by }, index) => {
    if (hasService) served += by
    else lost += by
    const toMs = changes[index + 1]?.atMs ?? atMs
    if (toMs === atMs || served > 0 || lost === 0) return
    const last = times.at(-1)
    if (last?.toMs === atMs) last.toMs = toMs
    else times.push({ fromMs: atMs, toMs })
  })
  return times.reverse()
}
