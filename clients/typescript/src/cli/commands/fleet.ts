import { Argument, type Command } from 'commander'
import { collect } from '../input.ts'
import { printFile, refuseTerminal } from '../print-file.ts'
import { openSession } from '../session.ts'
import { type Cell, table } from '../table.ts'

type GpsOptions = { format: 'table' | 'json' | 'columnar' | 'geojson'; tag?: string[]; group?: string; bbox?: string }

/** `fleet`. */
export function addFleetCommands(program: Command): void {
  const fleet = program.command('fleet').description('Positions and signal of many routers.')
  fleet
    .command('gps')
    .description('Print the last position and signal of each device.')
    .option('--format <format>', 'table, json, columnar or geojson', 'table')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--group <id>', 'only members of this group')
    .option('--bbox <box>', 'only inside minLon,minLat,maxLon,maxLat')
    .action(printPositions)
  fleet
    .command('export')
    .description('Print coverage, trips or dwells as a file.')
    .addArgument(new Argument('<what>', 'what to export').choices(Object.keys(exported)))
    .option('--format <format>', 'csv or parquet', 'csv')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--group <id>', 'only members of this group')
    .option('--since <minutes>', 'the last minutes', '1440')
    .action(exportFleet)
  fleet
    .command('operators')
    .description('Rank the operators by service and signal, everywhere or in an area.')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--group <id>', 'only members of this group')
    .option('--bbox <box>', 'only inside minLon,minLat,maxLon,maxLat')
    .option('--place <id>', 'only inside this place')
    .option('--h3 <cell>', 'only in this H3 cell of resolution 4 to 10')
    .option('--minutes <number>', 'the last so many minutes', '1440')
    .action(printOperators)
  fleet
    .command('radio-health')
    .description('Print the modems that receive less than their neighbours, the weakest first.')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--group <id>', 'only members of this group')
    .option('--status <status>', 'fault, suspect, ok or unknown; can be repeated', collect)
    .option('--compare', 'start a comparison of an organization (--org) instead')
    .action(printRadioHealth)
  fleet
    .command('sim-advice')
    .description('Print the SIMs that another operator would serve better, the greatest gain first.')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--group <id>', 'only members of this group')
    .action(printSimAdvice)
}

const exported = { coverage: '/fleet/coverage', trips: '/fleet/trips', dwells: '/fleet/dwells' } as const

type ExportOptions = { format: 'csv' | 'parquet'; tag?: string[]; group?: string; since: string }

async function exportFleet(what: keyof typeof exported, options: ExportOptions, command: Command): Promise<void> {
  const { format, tag, group, since } = options
  refuseTerminal(format)
  const { client } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const devices = { ...(tag && { tag }), ...(group && { groupId: group }), ...(org && { orgId: org }) }
  const query = { ...devices, format, sinceMinutes: Number(since) }
  await printFile(await client.get(exported[what], { params: { query }, parseAs: 'stream' }))
}

type AreaOptions = { tag?: string[]; group?: string; bbox?: string; place?: string; h3?: string; minutes: string }

async function printOperators({ tag, group, bbox, place, h3, minutes }: AreaOptions, command: Command): Promise<void> {
  const { client, print } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const area = { ...(bbox && { bbox }), ...(place && { placeId: place }), ...(h3 && { h3 }) }
  const devices = { ...(tag && { tag }), ...(group && { groupId: group }), ...(org && { orgId: org }) }
  const query = { ...devices, ...area, sinceMinutes: Number(minutes) }
  const { items } = await client.get('/fleet/operators', { params: { query } })
  print(items, () =>
    table(
      ['OPERATOR', 'SERVICE', 'MEDIAN RSRP', 'VOTES'],
      items.map(({ plmn, serviceRatio, rsrpDbm, samples }): Cell[] => [
        plmn,
        `${(serviceRatio * 100).toFixed(1)} %`,
        rsrpDbm.p50 === null ? '–' : `${rsrpDbm.p50} dBm`,
        samples,
      ]),
      'No operator was measured.',
    ),
  )
}

type RadioHealthOptions = { tag?: string[]; group?: string; status?: string[]; compare?: true }
type RadioStatus = 'fault' | 'suspect' | 'ok' | 'unknown'

/** The first page: operators repair the weakest ones first. */
const shownRadios = 200

const decibels = (value: number | null): string => (value === null ? '–' : `${value.toFixed(1)} dB`)

async function printRadioHealth({ tag, group, status, compare }: RadioHealthOptions, command: Command): Promise<void> {
  const { client, print, organizationId } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  if (compare) {
    const orgId = await organizationId()
    const run = await client.post('/orgs/{orgId}/radio-health-runs', { params: { path: { orgId } } })
    return print(run, () => `The comparison is ${run.status}.`)
  }
  const devices = { ...(tag && { tag }), ...(group && { groupId: group }), ...(org && { orgId: org }) }
  // The service names the statuses in its error for another one.
  const query = { ...devices, ...(status && { status: status as RadioStatus[] }), limit: shownRadios }
  const answer = await client.get('/fleet/radio-health', { params: { query } })
  print(answer.items, () =>
    table(
      ['DEVICE', 'NAME', 'MODEM', 'STATUS', 'OFFSET', '95 %', 'SHARED CELLS', 'DEVICES', 'SINCE'],
      answer.items.map((radio): Cell[] => [
        radio.deviceId,
        radio.deviceName,
        radio.modem,
        radio.status,
        decibels(radio.offsetDb),
        `${decibels(radio.offsetLowDb)} to ${decibels(radio.offsetHighDb)}`,
        radio.sharedCells,
        radio.comparedDevices,
        radio.sinceAt?.slice(0, 10),
      ]),
      answer.asOf === null ? 'The radios were not compared yet.' : 'No radio was measured.',
    ),
  )
}

const shownSims = 200

const minutes = (value: number | null): string => (value === null ? '–' : value.toFixed(1))

async function printSimAdvice({ tag, group }: { tag?: string[]; group?: string }, command: Command): Promise<void> {
  const { client, print } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const devices = { ...(tag && { tag }), ...(group && { groupId: group }), ...(org && { orgId: org }) }
  const answer = await client.get('/fleet/sim-advice', { params: { query: { ...devices, limit: shownSims } } })
  print(answer.items, () =>
    table(
      ['DEVICE', 'NAME', 'MODEM', 'OPERATOR', 'NO SERVICE (MIN/DAY)', 'BEST', 'SAVES (MIN/DAY)'],
      answer.items.map((sim): Cell[] => [
        ...[sim.deviceId, sim.deviceName, sim.modem, sim.plmn],
        minutes(sim.noServiceMinutesPerDay),
        sim.bestPlmn,
        minutes(sim.gainMinutesPerDay),
      ]),
      answer.asOf === null ? 'The operators were not compared yet.' : 'No SIM reported with a position.',
    ),
  )
}

async function printPositions({ format, tag, group, bbox }: GpsOptions, command: Command): Promise<void> {
  const { client, isJson, print } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const filter = {
    ...(tag && { tag }),
    ...(group && { groupId: group }),
    ...(bbox && { bbox }),
    ...(org && { orgId: org }),
  }
  const isTable = format === 'table' && !isJson
  const query = { ...filter, include: ['devices' as const], format: format === 'table' ? ('json' as const) : format }
  const answer = await client.get('/fleet/gps', { params: { query } })
  if (!isTable) return void process.stdout.write(`${JSON.stringify(answer)}\n`)
  const devices = (answer as { devices?: unknown }).devices as Device[]
  print(answer, () =>
    table(
      ['DEVICE', 'NAME', 'STATUS', 'LAT', 'LON', 'QUALITY', 'RSRP', 'MODEM'],
      devices.map(({ deviceId, name, status, location, signal }): Cell[] => [
        deviceId,
        name,
        status,
        location?.lat,
        location?.lon,
        signal?.quality,
        signal?.rsrpDbm,
        signal?.modem,
      ]),
    ),
  )
}

type Device = {
  deviceId: string
  name?: string
  status?: string
  location?: { lat?: number; lon?: number } | null
  signal?: { quality?: string | null; rsrpDbm?: number | null; modem?: string | null } | null
}
