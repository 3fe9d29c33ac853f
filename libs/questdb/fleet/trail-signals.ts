import { activeModem, type ModemReports } from '#telemetry/rows/active-modem'

/** The signal of a modem at the end of a step. `servedMs`: when it last had service in the step; null if it had none. */
export type StepSignal = {
  tsMs: number
  modem: string | null
  servedMs: number | null
  rat: string | null
  rsrpDbm: number | null
  sinrDb: number | null
  rssiDbm: number | null
}

/** When a modem was last connected in a step. */
export type StepConnection = { tsMs: number; modem: string }

/** A modem and what it reported up to the present. `nearest`, `signal` and `connection` are positions in its lists. */
type FollowedModem = ModemReports & {
  signals: StepSignal[]
  connections: StepConnection[]
  nearest: number
  signal: number
  connection: number
}

/**
 * Returns for each time the nearest signal of the modem that was active then, else of the modem without a name, as the map shows
 * a device; undefined if that is more than `withinMs` away. All lists are of one device and in order of time.
 */
export function activeSignals(
  timesMs: readonly number[],
  signals: readonly StepSignal[],
  connections: readonly StepConnection[],
  withinMs: number,
): (StepSignal | undefined)[] {
  const modems = followedModems(signals, connections)
  const unnamed = modems.find(({ modem }) => modem === null)
  return timesMs.map((tsMs) => {
    const nearby = new Map(modems.map((modem) => [modem, nearestSignal(modem, tsMs, withinMs)]))
    const presentMs = Math.max(tsMs, ...[...nearby.values()].map((signal) => signal?.tsMs ?? tsMs))
    for (const modem of modems) follow(modem, presentMs)
    const reporting = modems.filter(({ newestMs }) => newestMs > 0)
    const active = activeModem(reporting, presentMs)
    return (active && nearby.get(active)) ?? (unnamed && nearby.get(unnamed))
  })
}

function followedModems(signals: readonly StepSignal[], connections: readonly StepConnection[]): FollowedModem[] {
  const signalsOf = Map.groupBy<string | null, StepSignal>(signals, ({ modem }) => modem)
  const connectionsOf = Map.groupBy<string | null, StepConnection>(connections, ({ modem }) => modem)
  return [...new Set([...signalsOf.keys(), ...connectionsOf.keys()])].map((modem) => ({
    ...{ modem, connectedMs: null, servedMs: null, newestMs: 0 },
    ...{ signals: signalsOf.get(modem) ?? [], connections: connectionsOf.get(modem) ?? [] },
    ...{ nearest: 0, signal: 0, connection: 0 },
  }))
}

/** Times only increase, so one walk through the signals finds the nearest of each. */
function nearestSignal(modem: FollowedModem, tsMs: number, withinMs: number): StepSignal | undefined {
  const { signals } = modem
  const distance = (index: number) => Math.abs((signals[index]?.tsMs ?? Number.POSITIVE_INFINITY) - tsMs)
  while (modem.nearest + 1 < signals.length && distance(modem.nearest + 1) <= distance(modem.nearest)) modem.nearest++
  return distance(modem.nearest) <= withinMs ? signals[modem.nearest] : undefined
}

/** Takes what the modem reported until then. */
function follow(modem: FollowedModem, presentMs: number): void {
  for (let next = modem.signals[modem.signal]; next && next.tsMs <= presentMs; next = modem.signals[modem.signal]) {
    modem.newestMs = Math.max(modem.newestMs, next.tsMs)
    modem.servedMs = next.servedMs ?? modem.servedMs
    modem.signal++
  }
  const { connections } = modem
  for (let next = connections[modem.connection]; next && next.tsMs <= presentMs; next = connections[modem.connection]) {
    modem.newestMs = Math.max(modem.newestMs, next.tsMs)
    modem.connectedMs = next.tsMs
    modem.connection++
  }
}
