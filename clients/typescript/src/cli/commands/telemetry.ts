import type { Command } from 'commander'
import { nearText } from '../../near.ts'
import type { components } from '../../openapi.ts'
import { pause } from '../../retrying-fetch.ts'
import { allOf } from '../all-of.ts'
import { findDeviceId } from '../find-device.ts'
import { modelSegment } from '../model-segment.ts'
import { printFile, refuseTerminal } from '../print-file.ts'
import { openSession, print, type Session } from '../session.ts'
import { table } from '../table.ts'

type Item = components['schemas']['TelemetryHistory']['items'][number]
type Kind = Item['kind']

/** `telemetry`. */
export function addTelemetryCommands(program: Command): void {
  const telemetry = program.command('telemetry').description('What a router reported.')
  telemetry.command('latest <device>').description('Print the newest sample of each kind.').action(printLatest)
  telemetry
    .command('data-use <device>')
    .description('Print what each modem and interface received and sent.')
    .option('--since <minutes>', 'the last minutes', '1440')
    .action(printDataUse)
  telemetry
    .command('trips <device>')
    .description('Print where the router drove, the newest trip first.')
    .option('--since <minutes>', 'trips that began in the last minutes', '1440')
    .action(printTrips)
  telemetry
    .command('outages <device>')
    .description('Print when the router had no service, and near which town, the newest time first.')
    .option('--since <minutes>', 'the last minutes', '1440')
    .action(printOutages)
  telemetry
    .command('export <device>')
    .description('Print the history of a router as a file, the newest sample first.')
    .option('--format <format>', 'csv, ndjson or parquet', 'csv')
    .option('--kind <kind>', 'connection, cellular, system or location')
    .option('--since <minutes>', 'the last minutes', '1440')
    .action(exportHistory)
  telemetry
    .command('tail <device>')
    .description('Print samples as they arrive, until Ctrl-C.')
    .option('--kind <kind>', 'connection, cellular, system or location')
    .option('--since <minutes>', 'begin with the samples of the last minutes', '5')
    .option('--once', 'end after the samples that there are')
    .action(tail)
}

async function printLatest(reference: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { modelSegment, deviceId: await findDeviceId(session, reference) }
  const latest = await session.client.get('/api/{modelSegment}/{deviceId}/telemetry/latest', { params: { path } })
  const { connection, cellular, system, location } = latest
  session.print(latest, () =>
    table(
      ['KIND', 'AT', 'VALUES'],
      Object.entries({ connection, cellular, system, location }).map(([kind, sample]) => [
        kind,
        sample?.ts,
        sample && valuesOf(sample),
      ]),
    ),
  )
}

async function printDataUse(reference: string, { since }: { since: string }, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { modelSegment, deviceId: await findDeviceId(session, reference) }
  const params = { path, query: { sinceMinutes: Number(since) } }
  const used = await session.client.get('/api/{modelSegment}/{deviceId}/telemetry/data-use', { params })
  session.print(used, () =>
    table(
      ['MODEM', 'INTERFACE', 'RECEIVED MB', 'SENT MB'],
      used.items.map((item) => [item.modem, item.interface, megabytes(item.rxBytes), megabytes(item.txBytes)]),
      'The router sent no counters.',
    ),
  )
}

const megabytes = (bytes: number | null) => bytes && (bytes / 1e6).toFixed(1)

async function printTrips(reference: string, { since }: { since: string }, command: Command): Promise<void> {
  const session = openSession(command)
  const query = { deviceId: await findDeviceId(session, reference), sinceMinutes: Number(since) }
  const trips = await allOf(session.client.list('/fleet/trips', { params: { query } }))
  session.print(trips, () =>
    table(
      ['DEPARTED', 'ARRIVED', 'KM', 'MINUTES', 'WITHOUT SERVICE', 'RSRP DBM', 'FROM', 'TO'],
      trips.map((trip) => [
        trip.departedAt,
        trip.arrivedAt ?? 'under way',
        (trip.distanceM / 1_000).toFixed(1),
        Math.round(trip.durationS / 60),
        trip.noServiceS === null ? null : `${Math.round(trip.noServiceS)} s`,
        trip.rsrpP50Dbm,
        endText(trip.from),
        endText(trip.to),
      ]),
      'The router made no trip.',
    ),
  )
}

async function printOutages(reference: string, { since }: { since: string }, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { modelSegment, deviceId: await findDeviceId(session, reference) }
  const params = { path, query: { sinceMinutes: Number(since) } }
  const outages = await session.client.get('/api/{modelSegment}/{deviceId}/telemetry/outages', { params })
  session.print(outages, () =>
    table(
      ['FROM', 'TO', 'SECONDS', 'MODEM', 'WHERE'],
      outages.items.map(({ from, to, durationS, modem, location, near }) => [
        from,
        to,
        durationS,
        modem,
        location && placeText({ ...location, near }),
      ]),
      'The router had service all the time.',
    ),
  )
}

type TripEnd = components['schemas']['TripEnd']
type Located = Pick<TripEnd, 'lat' | 'lon' | 'near'>

const endText = ({ placeName, ...located }: TripEnd): string => placeName ?? placeText(located)

const placeText = ({ lat, lon, near }: Located) => (near ? nearText(near) : `${lat.toFixed(5)},${lon.toFixed(5)}`)

type ExportOptions = { format: 'csv' | 'ndjson' | 'parquet'; kind?: Kind; since: string }

async function exportHistory(reference: string, options: ExportOptions, command: Command): Promise<void> {
  const { format, kind, since } = options
  refuseTerminal(format)
  const session = openSession(command)
  const path = { modelSegment, deviceId: await findDeviceId(session, reference) }
  const params = { path, query: { format, sinceMinutes: Number(since), ...(kind && { kind }) } }
  const address = '/api/{modelSegment}/{deviceId}/telemetry/history'
  await printFile(await session.client.get(address, { params, parseAs: 'stream' }))
}

type TailOptions = { kind?: Kind; since: string; once?: boolean }

const pollMs = 2_000

async function tail(reference: string, options: TailOptions, command: Command): Promise<void> {
  const session = openSession(command)
  const deviceId = await findDeviceId(session, reference)
  const seen = new Map<string, Item['ts']>()
  let fromMs = Date.now() - Number(options.since) * 60_000
  for (;;) {
    const items = await readSince(session, deviceId, fromMs, options.kind)
    for (const item of items) {
      const key = keyOf(item)
      if (seen.has(key)) continue
      seen.set(key, item.ts)
      print(session.isJson ? JSON.stringify(item) : `${item.ts}  ${item.kind.padEnd(10)}  ${valuesOf(item)}`)
    }
    if (options.once) return
    // Late samples of the last minute are printed too. Older keys are not needed any more.
    fromMs = Math.max(fromMs, Date.now() - 60_000)
    for (const [key, ts] of seen) if (Date.parse(ts) < fromMs) seen.delete(key)
    await pause(pollMs)
  }
}

/** What makes two samples of a device one. Each modem and interface has samples of its own. */
const keyOf = (item: Item): string =>
  JSON.stringify([item.ts, item.kind, 'modem' in item && item.modem, 'interface' in item && item.interface])

/** The samples from a time on, oldest first. */
async function readSince(
  { client }: Session,
  deviceId: string,
  fromMs: number,
  kind: Kind | undefined,
): Promise<Item[]> {
  const query = { from: new Date(fromMs).toISOString(), ...(kind && { kind }) }
  const params = { path: { modelSegment, deviceId }, query }
  const items = await allOf(client.list('/api/{modelSegment}/{deviceId}/telemetry/history', { params }))
  return items.reverse()
}

const hidden = new Set(['ts', 'kind', 'receivedAt', 'tsCorrected', 'ageMs'])

/** The values of a sample that are not null, as `name=value`. */
const valuesOf = (sample: object): string =>
  Object.entries(sample)
    .filter(([name, value]) => value !== null && !hidden.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ')
