import { ofOwners, type RowOwners } from '#questdb/server/owned-only'
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
// A radio sample without service denies connections for this long. Routers whose radio is without service report it every minute.
const deniesForMinutes = 2
// Clocks of devices may be ahead.
const aheadMs = 5 * minuteMs

/**
 * The devices of these organizations with a modem that was seen in the last 24 hours and was without service, or without a
 * report, for this long while the device reported. Of several such modems of a device, the first by name.
 */
export async function readDownModems(
  questdb: QuestdbSql,
  forMinutes: number,
  owners: RowOwners,
  nowMs: number,
): Promise<DownModem[]> {
  const read = { questdb, owners, forMinutes, nowMs }
  const devices = await readDevices(read, () => true)
  return devices.flatMap(({ organizationId, deviceId, lastMs, modems }) => {
    if (!isReporting(lastMs, read)) return []
    const [down] = modems
      .filter((modem) => isDown(modem, lastMs, forMinutes))
      .sort((a, b) => ((a.modem ?? '') < (b.modem ?? '') ? -1 : 1))
    return down ? [{ organizationId, deviceId, sinceMs: down.goodMs, value: down.modem }] : []
  })
}

/** The devices among `deviceIds` that report, and none of whose modems is down any more. */
export async function readUpDevices(
  questdb: QuestdbSql,
  forMinutes: number,
  owners: RowOwners,
  deviceIds: ReadonlySet<string>,
  nowMs: number,
): Promise<DeviceOf[]> {
  const read = { questdb, owners, forMinutes, nowMs }
  const devices = await readDevices(read, (deviceId) => deviceIds.has(deviceId))
  return devices.flatMap(({ organizationId, deviceId, lastMs, modems }) => {
    const isUp = isReporting(lastMs, read) && !modems.some((modem) => isDown(modem, lastMs, forMinutes))
    return isUp ? [{ organizationId, deviceId }] : []
  })
}

/**
 * `goodMs`: when the modem last had service; the first sample of the day if it had none. `lastMs`: its newest sample. `isDenied`:
 * it was connected later, but its radio had no service then.
 */
type Modem = { modem: string | null; goodMs: number; lastMs: number; isUplinkOnly: boolean; isDenied: boolean }
type Device = DeviceOf & { lastMs: number; modems: Modem[] }
type Read = { questdb: QuestdbSql; owners: RowOwners; forMinutes: number; nowMs: number }

const isReporting = (lastMs: number, { forMinutes, nowMs }: Read): boolean =>
  lastMs >= nowMs - Math.max(forMinutes * minuteMs, longestGapMs)

const isDown = ({ goodMs }: Modem, deviceLastMs: number, forMinutes: number) =>
  deviceLastMs - goodMs >= forMinutes * minuteMs

type ModemColumns = [organizationId: string, deviceId: string, modem: string | null, ...times: (number | null)[]]

/**
 * SQL condition: a modem that sends connections only has no service. One that is disconnected can be registered, and waits until
 * another one fails.
 */
const downSql = `state IN ('searching', 'failed', 'disabled') OR registration IN ('searching', 'denied', 'not_registered')`

/** SQL condition: a connection that only a modem has. */
const ofModemSql = `rat IS NOT NULL OR registration IS NOT NULL OR plmn IS NOT NULL OR sim_plmn IS NOT NULL OR iccid IS NOT NULL
  OR imsi IS NOT NULL OR apn IS NOT NULL OR state IN ('searching', 'registered')
  OR interface IS NULL OR NOT (interface ~ '^(br-|en|eth|lan|wan|wifi|wlan)')`

/** SQL condition: a connection with service. */
const connectedSql = `(modem IS NOT NULL OR ${ofModemSql})
  AND (state IN ('connected', 'registered') OR registration IN ('home', 'roaming')) AND NOT (${downSql})`

type ConnectedColumns = [deviceId: string, modem: string | null, connectedMs: number]

/** Selects the newest connection of each modem that its radio did not deny. A join by time needs its rows in that order. */
const connectedStatement = (where: string): string =>
  `SELECT device_id, modem, max(ts) FROM (
     SELECT c.device_id, c.modem, c.ts, r.rat, r.ts radio_ts
     FROM ((SELECT ts, device_id, modem FROM connection WHERE ${where} AND ${connectedSql} ORDER BY ts) TIMESTAMP(ts)) c
     ASOF JOIN ((SELECT ts, device_id, modem, rat FROM cellular WHERE ${where} ORDER BY ts) TIMESTAMP(ts)) r
       ON c.device_id = r.device_id AND c.modem = r.modem
   ) WHERE rat IS NULL OR rat != 'none' OR ts > dateadd('m', ${deniesForMinutes}, radio_ts)`

async function readDevices(from: Read, isWanted: (deviceId: string) => boolean): Promise<Device[]> {
  const { questdb, owners, forMinutes, nowMs } = from
  const range = { fromMs: nowMs - dayMs, toMs: nowMs + aheadMs }
  const times = [timestampParameter(range.fromMs), timestampParameter(range.toMs)]
  const ofOrganizations = await ofOwners(questdb, owners, ['cellular', 'connection', 'system', 'location'], range)
  const where = `ts >= $1 AND ts < $2 AND ${ofOrganizations}`
  const read = <Row extends unknown[]>(text: string) =>
    questdb.queryArrays<Row>(text, times, AbortSignal.timeout(maxReadMs))
  const cellular = await read<ModemColumns>(
    `SELECT org_id, device_id, modem, min(ts), max(ts), max(CASE WHEN rat = 'none' THEN null ELSE ts END),
       max(CASE WHEN rat = 'none' THEN ts ELSE null END)
     FROM cellular WHERE ${where}`,
  )
  const connections = await read<ModemColumns>(
    `SELECT org_id, device_id, modem, min(ts), max(ts), max(CASE WHEN ${downSql} THEN null ELSE ts END),
       max(CASE WHEN modem IS NOT NULL OR ${ofModemSql} THEN ts ELSE null END),
       max(CASE WHEN ${connectedSql} THEN ts ELSE null END)
     FROM connection WHERE ${where}`,
  )
  type Reported = [organizationId: string, deviceId: string, lastMs: number]
  const reported = await read<Reported>(`SELECT org_id, device_id, max(ts) FROM system WHERE ${where}`)
  // A receiver has many positions a day. Only those of a device that reports now matter.
  const located = await questdb.queryArrays<Reported>(
    `SELECT org_id, device_id, max(ts) FROM location WHERE ${where}`,
    [timestampParameter(nowMs - longestGapMs), timestampParameter(nowMs + aheadMs)],
    AbortSignal.timeout(maxReadMs),
  )
  const devices = new Map<string, Device>()
  const deviceOf = (organizationId: string, deviceId: string, lastMs: number | null): Device => {
    const key = `${organizationId} ${deviceId}`
    const device = devices.get(key) ?? { organizationId, deviceId, lastMs: 0, modems: [] }
    device.lastMs = Math.max(device.lastMs, lastMs ?? 0)
    devices.set(key, device)
    return device
  }
  addModems(deviceOf, cellular, connections)
  for (const [organizationId, deviceId, lastMs] of [...reported, ...located]) deviceOf(organizationId, deviceId, lastMs)
  const wanted = [...devices.values()]
    .filter(({ deviceId }) => isWanted(deviceId))
    .map((device) => ({ ...device, modems: device.modems.filter((modem) => !hasGotName(modem, device.modems)) }))
  const downOf = (devices: readonly Device[]) =>
    devices.filter(({ lastMs, modems }) => modems.some((modem) => isDown(modem, lastMs, forMinutes)))
  await readConnected(
    downOf(wanted).filter(({ modems }) => modems.some(({ isDenied }) => isDenied)),
    (isOfDevices) => read<ConnectedColumns>(connectedStatement(`${where} AND ${isOfDevices}`)),
  )
  const down = downOf(wanted)
  const isRenamed = await readRenamed(
    down.filter(({ modems }) => modems.length > 1),
    (condition) =>
      read<SimColumns>(
        `SELECT device_id, modem, coalesce(iccid, imsi) AS sim, min(ts), max(ts) FROM connection
         WHERE ${where} AND ${condition} AND (iccid IS NOT NULL OR imsi IS NOT NULL)`,
      ),
  )
  return wanted
    .map((device) => ({ ...device, modems: device.modems.filter((modem) => !isRenamed(device, modem)) }))
    .filter(({ modems }) => modems.length > 0)
}

/** Adds the modems to their devices. */
function addModems(
  deviceOf: (organizationId: string, deviceId: string, lastMs: number | null) => Device,
  cellular: readonly ModemColumns[],
  connections: readonly ModemColumns[],
): void {
  const lostMs = new Map<Modem, number>()
  for (const [organizationId, deviceId, modem, firstMs, lastMs, servedMs, noneMs] of cellular) {
    const radio = { modem, goodMs: servedMs ?? firstMs ?? 0, lastMs: lastMs ?? 0, isUplinkOnly: false, isDenied: false }
    deviceOf(organizationId, deviceId, radio.lastMs).modems.push(radio)
    lostMs.set(radio, noneMs ?? 0)
  }
  for (const [organizationId, deviceId, modem, firstMs, newestMs, upMs, modemMs, connectedAtMs] of connections) {
    const [lastMs, connectedMs] = [newestMs ?? 0, connectedAtMs ?? 0]
    const { modems } = deviceOf(organizationId, deviceId, lastMs)
    const known = modems.find((each) => each.modem === modem)
    if (known) {
      known.lastMs = Math.max(known.lastMs, lastMs)
      // Radio samples can be rare.
      const isDenied = connectedMs <= (lostMs.get(known) ?? 0) + deniesForMinutes * minuteMs
      known.isDenied = isDenied && connectedMs > known.goodMs
      if (!isDenied) known.goodMs = Math.max(known.goodMs, connectedMs)
    } else if ((modemMs ?? null) !== null)
      modems.push({ modem, goodMs: upMs ?? firstMs ?? 0, lastMs, isUplinkOnly: modem === null, isDenied: false })
  }
}

/**
 * A modem without a name is the only one, so it is a named one since the router names its modems. Without a radio it can be the
 * wired uplink of a router that names them.
 */
const hasGotName = ({ modem, lastMs, isUplinkOnly }: Modem, modems: readonly Modem[]): boolean =>
  modem === null && modems.some((other) => other.modem !== null && (isUplinkOnly || other.lastMs > lastMs))

type SimColumns = [deviceId: string, modem: string | null, sim: string, firstMs: number, lastMs: number]

const devicesPerStatement = 500

/** Calls `readRows` with a condition for some of the devices at a time. */
async function rowsOf<Row>(
  devices: readonly Device[],
  readRows: (isOfDevices: string) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[] = []
  for (let first = 0; first < devices.length; first += devicesPerStatement) {
    const ids = devices.slice(first, first + devicesPerStatement).map(({ deviceId }) => `'${deviceId}'`)
    rows.push(...(await readRows(`device_id IN (${ids.join(', ')})`)))
  }
  return rows
}

/** Sets when modems had service whose newest connections are denied by their radio: while the radio did not deny it. */
async function readConnected(
  devices: readonly Device[],
  readRows: (isOfDevices: string) => Promise<ConnectedColumns[]>,
): Promise<void> {
  for (const [deviceId, modem, connectedMs] of await rowsOf(devices, readRows)) {
    const known = devices
      .filter((device) => device.deviceId === deviceId)
      .flatMap(({ modems }) => modems.find((each) => each.modem === modem && each.isDenied) ?? [])
    for (const each of known) each.goodMs = Math.max(each.goodMs, connectedMs)
  }
}

/**
 * Returns a function that tells whether a modem has another name now: its SIM is in a modem that has reported it only since the modem
 * has stopped. The index of ModemManager and the name of a net device change when a modem starts again.
 */
async function readRenamed(
  devices: readonly Device[],
  readSims: (condition: string) => Promise<SimColumns[]>,
): Promise<(device: Device, modem: Modem) => boolean> {
  const sims = new Map<string, SimColumns[]>()
  for (const row of await rowsOf(devices, readSims)) sims.set(row[0], [...(sims.get(row[0]) ?? []), row])
  return ({ deviceId }, { modem, lastMs }) => {
    const reported = sims.get(deviceId) ?? []
    const own = reported.filter(([, name]) => name === modem).sort((a, b) => b[4] - a[4])[0]
    return (
      own !== undefined &&
      reported.some(([, name, sim, firstMs]) => name !== modem && sim === own[2] && firstMs > lastMs)
    )
  }
}
