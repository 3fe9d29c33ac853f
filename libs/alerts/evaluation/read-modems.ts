import { type QuestdbSql, timestampParameter } from '#questdb/server/sql'

type DeviceOf = { organizationId: string; deviceId: string }

/** A modem without service. `sinceMs`: it has been so since then, or longer. `value`: its name, if it has one. */
type DownModem = DeviceOf & { sinceMs: number; value: string | null }

// Other organizations wait meanwhile. QuestDB stops the statement then.
const maxReadMs = 15_000

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs
// A device reports if it has sent a sample within this time or within the period, whichever is longer.
const longestGapMs = 15 * minuteMs
// Clocks of devices may be ahead.
const aheadMs = 5 * minuteMs

/**
 * The devices of these organizations with a modem that was seen in the last 24 hours and was without service, or without a
 * report, for this long while the device reported. Of several such modems of a device, the first by name.
 */
export async function readDownModems(
  questdb: QuestdbSql,
  forMinutes: number,
  organizationIds: readonly string[],
  nowMs: number,
): Promise<DownModem[]> {
  const devices = await readDevices(questdb, organizationIds, nowMs)
  const freshMs = nowMs - Math.max(forMinutes * minuteMs, longestGapMs)
  return devices.flatMap(({ organizationId, deviceId, lastMs, modems }) => {
    if (lastMs < freshMs) return []
    const [down] = modems
      .filter(({ goodMs }) => lastMs - goodMs >= forMinutes * minuteMs)
      .sort((a, b) => ((a.modem ?? '') < (b.modem ?? '') ? -1 : 1))
    return down ? [{ organizationId, deviceId, sinceMs: down.goodMs, value: down.modem }] : []
  })
}

/** The devices among `deviceIds` that report, and none of whose modems is down any more. */
export async function readUpDevices(
  questdb: QuestdbSql,
  forMinutes: number,
  organizationIds: readonly string[],
  deviceIds: ReadonlySet<string>,
  nowMs: number,
): Promise<DeviceOf[]> {
  const devices = await readDevices(questdb, organizationIds, nowMs)
  return devices.flatMap(({ organizationId, deviceId, lastMs, modems }) => {
    const isUp = modems.every(({ goodMs }) => lastMs - goodMs < forMinutes * minuteMs)
    return isUp && deviceIds.has(deviceId) ? [{ organizationId, deviceId }] : []
  })
}

/** `goodMs`: when the modem last had service; the first sample of the day if it had none. `lastMs`: its newest sample. */
type Modem = { modem: string | null; goodMs: number; lastMs: number }
type Device = DeviceOf & { lastMs: number; modems: Modem[] }

type ModemColumns = [organizationId: string, deviceId: string, modem: string | null, ...times: (number | null)[]]

/**
 * SQL condition: a modem that sends connections only has no service. One that is disconnected can be registered, and waits until
 * another one fails.
 */
const downSql = `state IN ('searching', 'failed', 'disabled') OR registration IN ('searching', 'denied', 'not_registered')`

async function readDevices(questdb: QuestdbSql, organizationIds: readonly string[], nowMs: number): Promise<Device[]> {
  // Ids come from columns of type uuid.
  const organizations = organizationIds.map((id) => `'${id}'`).join(', ')
  const times = [timestampParameter(nowMs - dayMs), timestampParameter(nowMs + aheadMs)]
  const where = `ts >= $1 AND ts < $2 AND org_id IN (${organizations})`
  const read = <Row extends unknown[]>(text: string) =>
    questdb.queryArrays<Row>(text, times, AbortSignal.timeout(maxReadMs))
  const cellular = await read<ModemColumns>(
    `SELECT org_id, device_id, modem, min(ts), max(ts), max(CASE WHEN rat = 'none' THEN null ELSE ts END)
     FROM cellular WHERE ${where}`,
  )
  const connections = await read<ModemColumns>(
    `SELECT org_id, device_id, modem, min(ts), max(ts), max(CASE WHEN ${downSql} THEN null ELSE ts END)
     FROM connection WHERE ${where}`,
  )
  const reported = await read<[organizationId: string, deviceId: string, lastMs: number]>(
    `SELECT org_id, device_id, max(ts) FROM system WHERE ${where}`,
  )
  const devices = new Map<string, Device>()
  const deviceOf = (organizationId: string, deviceId: string, lastMs: number | null): Device => {
    const key = `${organizationId} ${deviceId}`
    const device = devices.get(key) ?? { organizationId, deviceId, lastMs: 0, modems: [] }
    device.lastMs = Math.max(device.lastMs, lastMs ?? 0)
    devices.set(key, device)
    return device
  }
  for (const [organizationId, deviceId, modem, firstMs = 0, lastMs = 0, servedMs = null] of cellular)
    deviceOf(organizationId, deviceId, lastMs).modems.push({
      modem,
      goodMs: servedMs ?? firstMs ?? 0,
      lastMs: lastMs ?? 0,
    })
  for (const [organizationId, deviceId, modem, firstMs = 0, lastMs = 0, upMs = null] of connections) {
    const { modems } = deviceOf(organizationId, deviceId, lastMs)
    const known = modems.find((each) => each.modem === modem)
    if (known) known.lastMs = Math.max(known.lastMs, lastMs ?? 0)
    else modems.push({ modem, goodMs: upMs ?? firstMs ?? 0, lastMs: lastMs ?? 0 })
  }
  for (const [organizationId, deviceId, lastMs] of reported) deviceOf(organizationId, deviceId, lastMs)
  return [...devices.values()]
    .map((device) => ({ ...device, modems: device.modems.filter((modem) => !hasGotName(modem, device.modems)) }))
    .filter(({ modems }) => modems.length > 0)
}

/** A modem without a name is the only one, so it is a named one since the router names its modems. */
const hasGotName = ({ modem, lastMs }: Modem, modems: readonly Modem[]): boolean =>
  modem === null && modems.some((other) => other.modem !== null && other.lastMs > lastMs)
