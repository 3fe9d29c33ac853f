import type { Command } from 'commander'
import { nearText } from '../../near.ts'
import type { components, paths } from '../../openapi.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { collect, readTable } from '../input.ts'
import { printFile } from '../print-file.ts'
import { openSession } from '../session.ts'
import { type Cell, table } from '../table.ts'

type Device = components['schemas']['ListedDevice']
type ListQuery = NonNullable<paths['/devices']['get']['parameters']['query']>
type ListOptions = Omit<ListQuery, 'limit' | 'cursor'> & { limit?: string }

/** `devices`. A device is named by its id, its serial or its name. */
export function addDeviceCommands(program: Command): void {
  const devices = program.command('devices').description('The registry of routers.')
  addFilters(devices.command('list').description('List devices.'))
    .option('--limit <count>', 'at most so many devices')
    .action(listDevices)
  devices.command('get <device>').description('Show a device.').action(getDevice)
  devices
    .command('create')
    .description('Register a device. Prints its id.')
    .requiredOption('--serial <serial>', 'the serial number')
    .requiredOption('--name <name>', 'the name')
    .requiredOption('--model <model>', 'the model')
    .option('--tag <tag>', 'a tag; can be repeated', collect)
    .option('--notes <text>', 'notes about the device')
    .action(createDevice)
  devices
    .command('token <device>')
    .description('Issue a device token. Prints the token, which is shown only once.')
    .option('--revoke', 'invalidate earlier tokens immediately')
    .action(issueToken)
  devices
    .command('import <file>')
    .description('Import devices from CSV (serial,name,model,tags,notes) or NDJSON; `-` is the standard input.')
    .option('--atomic', 'create either all devices or none')
    .option('--tokens', 'issue a token for each device and print it')
    .option('--dry-run', 'check the rows, and create nothing')
    .action(importDevices)
  addFilters(devices.command('export').description('Print all devices as a file.'))
    .option('--format <format>', 'csv or ndjson', 'csv')
    .action(exportDevices)
}

/** The filters and the order of a device list. */
const addFilters = (command: Command): Command =>
  command
    .option('--q <text>', 'part of the name, the serial or the model')
    .option('--tag <tag>', 'only devices with this tag; can be repeated', collect)
    .option('--status <status>', 'provisioning, online, offline, disabled or error')
    .option('--config-state <state>', 'inSync, pending, differs or unknown')
    .option('--group-id <id>', 'only the members of this group')
    .option('--firmware <version>', 'only devices with this firmware')
    .option('--place-id <id>', 'only devices inside this place')
    .option('--bbox <box>', 'only devices in west,south,east,north')
    .option('--signal <class>', 'excellent, good, fair, poor, none or unknown; can be repeated', collect)
    .option('--rat <technology>', 'only devices with this radio technology')
    .option('--plmn <code>', 'only devices with this operator')
    .option('--modems <condition>', 'several or withoutService')
    .option('--near <town>', 'only devices to which a town with this name is the nearest')
    .option('--min-today-bytes <bytes>', 'only devices that used at least so much today')
    .option('--min-month-bytes <bytes>', 'only devices that used at least so much this month')
    .option('--seen-within-minutes <minutes>', 'only devices that reported since')
    .option('--silent-for-minutes <minutes>', 'only devices that have not reported since')
    .option('--sort <key>', 'the order, such as name, signal, near, -dataMonth or -lastSeenAt')
    .option('--include <part>', 'signal, near or dataUse; can be repeated', collect)

async function listDevices({ limit, ...filter }: ListOptions, command: Command): Promise<void> {
  const { client, print } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const most = limit === undefined ? Infinity : countOf(limit)
  const query = { ...filter, ...(org && { orgId: org }), limit: Math.min(most, 200) }
  const items: Device[] = []
  for await (const device of client.list('/devices', { params: { query } })) {
    items.push(device)
    if (items.length >= most) break
  }
  const shown = [...columns, ...(filter.include ?? []).flatMap((part) => partColumns[part])]
  print(items, () =>
    table(
      shown.map(([title]) => title),
      items.map((device) => shown.map(([, cell]) => cell(device))),
    ),
  )
}

type Column = [title: string, cell: (device: Device) => Cell]

const columns: Column[] = [
  ['ID', ({ id }) => id],
  ['SERIAL', ({ serial }) => serial],
  ['NAME', ({ name }) => name],
  ['MODEL', ({ model }) => model],
  ['STATUS', ({ status }) => status],
  ['LAST SEEN', ({ lastSeenAt }) => lastSeenAt],
  ['TAGS', ({ tags }) => tags.join(', ')],
]

const partColumns: Record<NonNullable<ListQuery['include']>[number], Column[]> = {
  signal: [
    ['SIGNAL', ({ signal }) => signal?.quality],
    ['RSRP', ({ signal }) => signal?.rsrpDbm],
    ['OPERATOR', ({ signal }) => signal?.operatorName ?? signal?.plmn],
    ['MODEM', ({ signal }) => signal?.modem],
    ['MODEMS', ({ modems }) => modems?.count],
    ['WITHOUT SERVICE', ({ modems }) => modems?.withoutService],
  ],
  near: [['NEAR', ({ near }) => near && nearText(near)]],
  dataUse: [
    ['BYTES TODAY', ({ dataUse }) => dataUse?.todayBytes],
    ['BYTES THIS MONTH', ({ dataUse }) => dataUse?.monthBytes],
  ],
}

function countOf(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count > 0) return count
  throw new CommandError(`--limit must be a positive number, got ${text}.`, exitCodes.usage)
}

async function getDevice(reference: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const id = await findDeviceId(session, reference)
  const device = await session.client.get('/devices/{id}', { params: { path: { id } } })
  const { tags, configProfile, location, ...rest } = device
  const facts = {
    ...rest,
    tags: tags.join(', '),
    configProfile: configProfile && `${configProfile.id} version ${configProfile.version}`,
    location: location && `${location.lat}, ${location.lon} at ${location.ts}`,
  }
  session.print(device, () => table(['FIELD', 'VALUE'], Object.entries(facts)))
}

type NewDevice = { serial: string; name: string; model: string; tag?: string[]; notes?: string }

async function createDevice({ tag = [], ...fields }: NewDevice, command: Command): Promise<void> {
  const session = openSession(command)
  const body = { organizationId: await session.organizationId(), ...fields, tags: tag }
  const device = await session.client.post('/devices', { body })
  session.print(device, () => device.id)
}

async function issueToken(reference: string, { revoke = false }: { revoke?: boolean }, command: Command) {
  const session = openSession(command)
  const path = { id: await findDeviceId(session, reference) }
  const issued = await session.client.post('/devices/{id}/token', { params: { path }, body: { revoke } })
  session.print(issued, () => issued.token)
}

type ImportOptions = { atomic?: boolean; tokens?: boolean; dryRun?: boolean }

async function importDevices(file: string, { atomic, tokens, dryRun }: ImportOptions, command: Command): Promise<void> {
  const session = openSession(command)
  const body = await readTable(file)
  const word = (value: boolean | undefined) => (value ? 'true' : 'false')
  const query = {
    orgId: await session.organizationId(),
    atomic: word(atomic),
    tokens: word(tokens),
    dryRun: word(dryRun),
  } as const
  const isNdjson = body.trimStart().startsWith('{')
  const report = await session.client.post('/devices/import', {
    params: { query },
    body: body as never,
    bodySerializer: (text: unknown) => text as string,
    headers: { 'Content-Type': isNdjson ? 'application/x-ndjson' : 'text/csv' },
  })
  const failed = report.results.filter(({ status }) => status === 'failed')
  session.print(report, () => {
    const created = report.results.filter(({ token }) => token !== undefined)
    const parts = [`${dryRun ? 'Would create' : 'Created'} ${report.created} devices.`]
    if (created.length > 0)
      parts.push(
        table(
          ['ROW', 'ID', 'TOKEN'],
          created.map((row) => [row.index + 1, row.id, row.token]),
        ),
      )
    return parts.join('\n')
  })
  if (failed.length === 0) return
  const rows = failed.map(({ line, code, detail }) => [line, code, detail])
  throw new CommandError(`${failed.length} rows failed:\n${table(['LINE', 'CODE', 'DETAIL'], rows)}`, exitCodes.refused)
}

type ExportOptions = Omit<ListQuery, 'limit' | 'cursor'> & { format: 'csv' | 'ndjson' }

async function exportDevices(options: ExportOptions, command: Command): Promise<void> {
  const { client } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const query = { ...options, ...(org && { orgId: org }) }
  const file = await client.get('/devices/export', { params: { query }, parseAs: 'stream' })
  await printFile(file)
}
