/** What a device's cellular samples say about the connection of a modem. Times are epoch milliseconds. `modem`: null without a name. */
export type CellularState = {
  tsMs: number
  modem: string | null
  rat: string | null
  plmn: string | null
  operatorName: string | null
  cellId: string | null
}

/** What a device's system samples say about it. */
export type SystemState = { tsMs: number; uptimeS: number | null; rebootReason: string | null; fault: string | null }

/** A change that two consecutive samples show. `tsMs` is the time of the later one. `modem`: the name of the modem, if it is of one. */
export type DeviceChange = {
  tsMs: number
  kind: 'handover' | 'reboot' | 'fault'
  action: string
  modem: string | null
  detail: Record<string, unknown>
}

/** The time that an uptime counter can lag behind the clock before the difference is a reboot. */
const uptimeToleranceMs = 120_000

/**
 * Returns the changes of cell, operator, radio technology and service between consecutive samples of each modem. Its samples are
 * in the order of time, and the first one only provides the state before the second one. A value that a sample does not contain
 * is no change.
 */
export function handoversOf(samples: readonly CellularState[]): DeviceChange[] {
  const changes: DeviceChange[] = []
  const states = new Map<string | null, CellularState>()
  for (const sample of samples) {
    const { tsMs, modem } = sample
    if (sample.rat === null && sample.cellId === null && sample.plmn === null) continue
    const before = states.get(modem)
    const action = before && handoverAction(before, sample)
    if (before && action) changes.push({ tsMs, kind: 'handover', action, modem, detail: fromTo(before, sample) })
    states.set(modem, sample)
  }
  return changes
}

function handoverAction(before: CellularState, after: CellularState): string | undefined {
  const differ = (name: 'rat' | 'plmn' | 'cellId') =>
    before[name] !== null && after[name] !== null && before[name] !== after[name]
  if (differ('rat')) {
    if (after.rat === 'none') return 'service_lost'
    if (before.rat === 'none') return 'service_restored'
  }
  if (differ('plmn')) return 'operator_changed'
  if (differ('rat')) return 'technology_changed'
  return differ('cellId') ? 'cell_changed' : undefined
}

const fromTo = (before: CellularState, after: CellularState) => ({ from: placeIn(before), to: placeIn(after) })
const placeIn = ({ rat, plmn, operatorName, cellId }: CellularState) => ({ rat, plmn, operatorName, cellId })

/**
 * Returns the reboots and the beginnings and ends of faults between consecutive samples, which are in the order of time. The
 * first sample only provides the state before the second one.
 */
export function systemChangesOf(samples: readonly SystemState[]): DeviceChange[] {
  const changes: DeviceChange[] = []
  let before: SystemState | undefined
  for (const sample of samples) {
    if (before) changes.push(...rebootBetween(before, sample), ...faultBetween(before, sample))
    // A sample without uptime must not hide a reboot from the next one.
    before = sample.uptimeS === null && before ? { ...before, fault: sample.fault } : sample
  }
  return changes
}

function rebootBetween(before: SystemState, { tsMs, uptimeS, rebootReason }: SystemState): DeviceChange[] {
  if (before.uptimeS === null || uptimeS === null) return []
  const laggingMs = tsMs - before.tsMs - (uptimeS - before.uptimeS) * 1_000
  const hasRestarted = uptimeS < before.uptimeS || laggingMs > uptimeToleranceMs
  if (!hasRestarted) return []
  return [{ tsMs, kind: 'reboot', action: 'rebooted', modem: null, detail: { uptimeS, reason: rebootReason } }]
}

function faultBetween({ fault: before }: SystemState, { tsMs, fault }: SystemState): DeviceChange[] {
  if (before === fault) return []
  const action = fault === null ? 'fault_ended' : 'fault_reported'
  return [{ tsMs, kind: 'fault', action, modem: null, detail: { fault: fault ?? before } }]
}
