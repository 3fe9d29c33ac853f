import { isoTime } from '#core/iso-time'
import type { ShownDevice } from '#fleet-map/selection/filter'

type Read = (shown: ShownDevice, nowMs: number) => unknown

/** The fields of a device in a response, by dotted path and in order. */
const columns = {
  deviceId: ({ device }) => device.entry.deviceId,
  organizationId: ({ device }) => device.entry.organizationId,
  name: ({ device }) => device.entry.name,
  status: ({ device }) => device.entry.status,
  'location.lat': ({ location }) => location?.lat,
  'location.lon': ({ location }) => location?.lon,
  'location.fix': ({ location }) => location?.fix,
  'location.ts': ({ location }) => location && isoTime(location.tsMs),
  'location.ageMs': ({ location }, nowMs) => location && nowMs - location.tsMs,
  'location.accuracyM': ({ location }) => location?.accuracyM,
  'location.speedMps': ({ location }) => location?.speedMps,
  'location.headingDeg': ({ location }) => location?.headingDeg,
  'signal.ts': ({ signal }) => signal && isoTime(signal.tsMs),
  'signal.ageMs': ({ signal }, nowMs) => signal && nowMs - signal.tsMs,
  'signal.modem': ({ signal }) => signal?.modem,
  'signal.rat': ({ signal }) => signal?.rat,
  'signal.plmn': ({ signal }) => signal?.plmn,
  'signal.operatorName': ({ signal }) => signal?.operatorName,
  'signal.rsrpDbm': ({ signal }) => signal?.rsrpDbm,
  'signal.rsrqDb': ({ signal }) => signal?.rsrqDb,
  'signal.sinrDb': ({ signal }) => signal?.sinrDb,
  'signal.nrRsrpDbm': ({ signal }) => signal?.nrRsrpDbm,
  'signal.quality': ({ signal }) => signal?.quality,
  'signal.qualityBasis': ({ signal }) => signal?.qualityBasis,
  'signal.alignment': ({ signal }) => signal?.alignment,
  'signal.alignErrorM': ({ signal }) => signal?.alignErrorM,
  'signal.lat': ({ signal }) => signal?.lat,
  'signal.lon': ({ signal }) => signal?.lon,
  'signal.completedFrom': ({ signal }) => completedFrom(signal),
  'dwell.arrivedAt': ({ dwell }) => dwell && isoTime(dwell.arrivedAtMs),
  'dwell.durationS': ({ dwell }, nowMs) => dwell && Math.round((nowMs - dwell.arrivedAtMs) / 1000),
  'dwell.lat': ({ dwell }) => dwell?.lat,
  'dwell.lon': ({ dwell }) => dwell?.lon,
  'dwell.radiusM': ({ dwell }) => dwell?.radiusM,
  modems: ({ device }, nowMs) => device.modems.flatMap((modem) => modemView(modem, nowMs)),
} satisfies Record<string, Read>

const dayMs = 86_400_000

/** A modem that reported in the last 24 hours. */
function modemView({ isActive, signal }: ShownDevice['device']['modems'][number], nowMs: number) {
  const { tsMs, modem, completedFromMs: _, ...radio } = signal
  if (tsMs < nowMs - dayMs) return []
  return [{ modem, isActive, ts: isoTime(tsMs), ageMs: nowMs - tsMs, ...radio, completedFrom: completedFrom(signal) }]
}

const completedFrom = (signal: ShownDevice['signal']): string | null =>
  typeof signal?.completedFromMs === 'number' ? isoTime(signal.completedFromMs) : null

export type DevicePath = keyof typeof columns

const groups = ['location', 'signal', 'dwell'] as const
type Group = (typeof groups)[number]

/** All paths and groups that `fields` accepts. */
const devicePaths = (Object.keys(columns) as DevicePath[]).filter((path) => path !== 'modems')
export const deviceFieldNames: readonly string[] = [...devicePaths, ...groups]

/** The paths that a list of paths and groups selects, in their usual order; always with `deviceId`, and with modems on request. */
export function selectPaths(names: readonly string[] | undefined, withModems: boolean): DevicePath[] {
  const modems: DevicePath[] = withModems ? ['modems'] : []
  if (!names) return [...devicePaths, ...modems]
  const wanted = new Set(['deviceId', ...names])
  return [...devicePaths.filter((path) => wanted.has(path) || wanted.has(path.split('.')[0] ?? '')), ...modems]
}

const isMissing: Record<Group, (shown: ShownDevice) => boolean> = {
  location: ({ location }) => location === null,
  signal: ({ signal }) => signal === null,
  dwell: ({ dwell }) => dwell === null,
}

type NestedDevice = Record<string, unknown>

/** Creates the JSON object of a device, with nested groups; null for a group that the device does not have. */
export function deviceShaper(paths: readonly DevicePath[]): (shown: ShownDevice, nowMs: number) => NestedDevice {
  const plain = paths.filter((path) => !path.includes('.'))
  const nested = groups.flatMap((group) => {
    const members = paths.flatMap((path) =>
      path.startsWith(`${group}.`) ? [{ name: path.slice(group.length + 1), read: columns[path] as Read }] : [],
    )
    return members.length > 0 ? [{ group, members }] : []
  })
  return (shown, nowMs) => {
    const object: NestedDevice = {}
    for (const path of plain) object[path] = columns[path](shown, nowMs)
    for (const { group, members } of nested) {
      if (isMissing[group](shown)) {
        object[group] = null
        continue
      }
      const inner: NestedDevice = {}
      for (const { name, read } of members) inner[name] = read(shown, nowMs) ?? null
      object[group] = inner
    }
    return object
  }
}

/** Creates the object of a device without nested groups: `signal_rsrpDbm` for `signal.rsrpDbm`; null for a missing value. */
export function flatDeviceShaper(paths: readonly DevicePath[]): (shown: ShownDevice, nowMs: number) => NestedDevice {
  const members = paths.map((path) => ({ name: path.replace('.', '_'), read: columns[path] as Read }))
  return (shown, nowMs) => Object.fromEntries(members.map(({ name, read }) => [name, read(shown, nowMs) ?? null]))
}

// All columns of one chunk are read before the next chunk, so that its devices stay in the processor's cache.
const devicesAtOnce = 256

/** One array per path with a value for each device; null for a missing value. */
export function deviceColumns(
  paths: readonly DevicePath[],
  devices: readonly ShownDevice[],
  nowMs: number,
): Record<string, unknown[]> {
  const filled = paths.map((path) => ({
    path,
    read: columns[path] as Read,
    values: new Array<unknown>(devices.length).fill(null),
  }))
  for (let start = 0; start < devices.length; start += devicesAtOnce) {
    const some = devices.slice(start, start + devicesAtOnce)
    for (const { read, values } of filled) {
      let row = start
      for (const shown of some) values[row++] = read(shown, nowMs) ?? null
    }
  }
  return Object.fromEntries(filled.map(({ path, values }) => [path, values]))
}
