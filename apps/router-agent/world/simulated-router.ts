import type { Sample, SampleSource } from '../sample.ts'
import { readModem } from './modem.ts'
import { shadowAt } from './network.ts'
import { gaussian, uniform } from './noise.ts'
import { spotAt } from './paths.ts'
import { cellIdentity, type Reception, receive } from './radio.ts'
import { createReceiver } from './receiver.ts'
import type { RouterSpec } from './roster.ts'
import { movementAt } from './timetable.ts'

/** The hours of the day before that a vehicle reports, in epoch milliseconds. */
export type Shift = { fromMs: number; toMs: number }

type SimulatedBoot = {
  /** The time of the first sample. The time before `bootedAtMs` is the initial history of a new demo. */
  fromMs: number
  /** An earlier time of which there are samples too, with still longer intervals. */
  shift?: Shift | undefined
  bootedAtMs: number
  rebootReason: string | undefined
  firmware: () => string
}

const secondMs = 1_000
/** History has longer intervals: it fills the map and must not load the machine during the start. */
const historyAgeMs = 90_000
const leastRfEveryMs = { live: 0, history: 20_000, shift: 60_000 }
const historyRepeatEveryMs = 60_000
const shiftRefreshFactor = 3
/** The router looks less often in its shift, because each look costs time at the start. */
const shiftStepMs = 10_000
const connectionEveryMs = 30_000
const systemEveryMs = 60_000

/** The times at which a router looks at its sensors: each second from the start on, and less often in its shift. */
function timesOf({ fromMs, shift }: SimulatedBoot) {
  const startMs = Math.ceil(fromMs / secondMs) * secondMs
  const stepAt = (atMs: number) => (atMs < startMs ? shiftStepMs : secondMs)
  return {
    firstMs: shift ? Math.ceil(shift.fromMs / shiftStepMs) * shiftStepMs : startMs,
    startMs,
    stepAt,
    timeAfter(atMs: number): number {
      const next = atMs + stepAt(atMs)
      return shift && next >= shift.toMs ? Math.max(next, startMs) : next
    },
  }
}

/** The receiver of a router, with longer intervals for the past. */
function createReceivers({ receiver, seed }: RouterSpec) {
  const refreshM = receiver.refreshM * shiftRefreshFactor
  return {
    live: createReceiver(receiver, seed),
    history: createReceiver({ ...receiver, repeatEveryMs: historyRepeatEveryMs }, seed),
    shift: createReceiver({ ...receiver, refreshM, repeatEveryMs: historyRepeatEveryMs }, seed),
  }
}

/** Generates the samples of one simulated router from one boot to the next. */
export function createSimulatedRouter(spec: RouterSpec, boot: SimulatedBoot): SampleSource {
  const { seed, surroundings, antennaLossDb } = spec
  const ofSecond = { seed: seed + 1, antennaLossDb: 0 }
  // Far from the coast, ships report by satellite. Their cellular samples then report no service.
  const hasSatellite = spec.deviceClass === 'ship'
  const phaseMs = Math.floor(uniform(seed, 20) * 10) * secondMs
  const receivers = createReceivers(spec)
  const { firstMs, startMs, stepAt, timeAfter } = timesOf(boot)
  let nextMs = firstMs
  let reception: Reception | undefined
  let secondReception: Reception | undefined
  const [first, second] = spec.second ? [{ modem: 'wwan0' }, { modem: 'wwan1' }] : [{}, undefined]
  let reason = boot.rebootReason
  const used = [0, 1].map(() => ({ received: 0, sent: 0 }))

  /** An interval ends in the step that leads to this time. */
  const isDue = (everyMs: number, atMs: number) => (atMs + phaseMs) % everyMs < stepAt(atMs)

  const uplinkOf = (simSlot: 0 | 1, homePlmn: string): Uplink => {
    const bytes = used[simSlot] ?? { received: 0, sent: 0 }
    return { simSlot, homePlmn, bytes, seed, bootedAtMs: boot.bootedAtMs, hasSatellite }
  }

  function samplesAt(ts: number, isHistory: boolean): Sample[] {
    const movement = movementAt(spec.timetable, ts)
    const onPath = spotAt(spec.path, movement.alongM)
    const spot = movement.forward ? onPath : { ...onPath, headingDeg: (onPath.headingDeg + 180) % 360 }
    const sky = shadowAt(surroundings.shadows, movement.alongM)?.sky ?? true
    const taken: Sample[] = []
    const age = ts < startMs ? 'shift' : isHistory ? 'history' : 'live'
    const location = receivers[age].observe(spot, movement.speedMps, sky, ts)
    if (location) taken.push(location)
    const measure = isDue(Math.max(leastRfEveryMs[age], spec.rfEveryMs), ts)
    if (measure || !reception) {
      const current = reception?.serving ? cellIdentity(reception.serving) : undefined
      reception = receive(surroundings, spot, movement.alongM, ts, { seed, antennaLossDb }, current)
      if (measure) taken.push({ ...readModem(reception, ts, spec.missing, seed), ...first })
      if (spec.second) {
        const held = secondReception?.serving ? cellIdentity(secondReception.serving) : undefined
        secondReception = receive(spec.second.surroundings, spot, movement.alongM, ts, ofSecond, held)
        if (measure) taken.push({ ...readModem(secondReception, ts, spec.missing, seed + 1), ...second })
      }
    }
    if (isDue(connectionEveryMs * (isHistory ? 4 : 1), ts)) {
      taken.push({ ...connectionSample(ts, reception, uplinkOf(0, spec.homePlmn)), ...first })
      if (spec.second && secondReception)
        taken.push({ ...connectionSample(ts, secondReception, uplinkOf(1, spec.second.plmn)), ...second })
    }
    if (reason !== undefined || isDue(systemEveryMs * (isHistory ? 5 : 1), ts)) {
      taken.push(systemSample(ts, spec, boot, reason))
      reason = undefined
    }
    return taken
  }

  const isAsleep = (atMs: number): boolean => {
    if (!spec.sleep || atMs < boot.bootedAtMs) return false
    const { awakeMs, asleepMs } = spec.sleep
    return (atMs - boot.bootedAtMs) % (awakeMs + asleepMs) >= awakeMs
  }

  return {
    collect(nowMs) {
      const taken: Sample[] = []
      for (; nextMs <= nowMs; nextMs = timeAfter(nextMs)) {
        if (isAsleep(nextMs)) continue
        // Pushed one by one, because a spread would copy hours of history.
        for (const sample of samplesAt(nextMs, nowMs - nextMs > historyAgeMs)) taken.push(sample)
      }
      return taken
    },
    isLinkUp: (nowMs) => !isAsleep(nowMs) && reception !== undefined && (hasSatellite || reception.rat !== 'none'),
    isExhausted: () => false,
  }
}

function systemSample(
  ts: number,
  spec: RouterSpec,
  boot: SimulatedBoot,
  reason: SimulatedBoot['rebootReason'],
): Sample {
  const { seed, fault } = spec
  const warmth = 6 * Math.sin((((ts / 3_600_000) % 24) / 24) * 2 * Math.PI)
  return {
    ts,
    kind: 'system',
    cpuPct: Math.round(8 + 20 * uniform(seed, ts, 30)),
    memUsedPct: Math.round(41 + 8 * uniform(seed, Math.floor(ts / 3_600_000), 31)),
    diskUsedPct: 23,
    load1: Math.round((0.1 + 0.5 * uniform(seed, ts, 32)) * 100) / 100,
    temperatureC: Math.round((34 + warmth + gaussian(seed, ts, 33)) * 10) / 10,
    modemTemperatureC: Math.round((41 + warmth + (fault ? 44 : 0) + gaussian(seed, ts, 34)) * 10) / 10,
    inputVoltageV: Math.round((spec.deviceClass === 'fixed-site' ? 24 : 13.6) * 10 + gaussian(seed, ts, 35) * 2) / 10,
    // Before the first boot, the router is assumed to have run for two days.
    uptimeS: Math.round((ts - boot.bootedAtMs) / secondMs) + (boot.rebootReason === undefined ? 2 * 86_400 : 0),
    firmware: boot.firmware(),
    clients: Math.floor(uniform(seed, Math.floor(ts / 600_000), 36) * 6),
    ...(reason === undefined ? {} : { rebootReason: reason }),
    ...(fault === undefined ? {} : { fault }),
  }
}

/** `bytes`: the counters of the modem, which each sample increases. */
type Uplink = {
  simSlot: 0 | 1
  homePlmn: string
  bytes: { received: number; sent: number }
  seed: number
  bootedAtMs: number
  hasSatellite: boolean
}

function connectionSample(ts: number, now: Reception, uplink: Uplink): Sample {
  const { simSlot, homePlmn, bytes, seed } = uplink
  const name = `wwan${simSlot}`
  if (!now.serving && uplink.hasSatellite)
    return { ts, kind: 'connection', state: 'connected', interface: 'sat0', latencyMs: 640 }
  if (!now.serving) return { ts, kind: 'connection', state: 'searching', interface: name, rat: 'none', simSlot }
  const { plmn } = now.serving.site
  bytes.received += Math.round(40_000 * (1 + uniform(seed, ts, 40) * 20))
  bytes.sent += Math.round(30_000 * (1 + uniform(seed, ts, 41) * 5))
  const distress = Math.max(0, 8 - now.sinrDb)
  return {
    ts,
    kind: 'connection',
    state: 'connected',
    interface: name,
    rat: now.rat,
    registration: plmn === homePlmn ? 'home' : 'roaming',
    plmn,
    apn: 'fleet.iot',
    simSlot,
    uptimeS: Math.max(0, Math.round((ts - uplink.bootedAtMs) / secondMs)),
    latencyMs: Math.round(28 + distress * 9 + Math.abs(gaussian(seed, ts, 42)) * 12),
    jitterMs: Math.round(3 + distress + Math.abs(gaussian(seed, ts, 43)) * 4),
    lossPct: Math.round(Math.min(30, distress > 9 ? distress / 2 : 0) * 10) / 10,
    rxBytes: bytes.received,
    txBytes: bytes.sent,
  }
}
