import type { Command } from 'commander'
import type { components } from '../../openapi.ts'
import { allOf } from '../all-of.ts'
import { type DeliveryOptions, deliveryOf, withDelivery } from '../delivery.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { collect, readJson } from '../input.ts'
import { planText } from '../planned-batch.ts'
import { openSession } from '../session.ts'
import { table } from '../table.ts'
import { watchBatch } from '../watch-batch.ts'

/** `configs`. */
export function addConfigCommands(program: Command): void {
  const configs = program.command('configs').description('Config profiles.')
  configs.command('list').description('List config profiles.').action(listProfiles)
  configs.command('get <profile>').description('Print a profile. Secrets are redacted.').action(getProfile)
  configs
    .command('create <name>')
    .description('Create a profile. Prints its id.')
    .requiredOption('--settings <json>', 'the settings: JSON, @file, or - for the standard input')
    .option('--model <model>', 'only for routers of this model')
    .action(createProfile)
  configs
    .command('preview <profile> <device>')
    .description('Print what a device would receive, with secrets redacted, and where each value is from.')
    .action(previewProfile)
  configs
    .command('state <device>')
    .description('Print whether a device runs what was applied to it, and where it differs.')
    .action(printState)
  withDelivery(configs.command('apply <profile>'))
    .description('Apply a profile to a group or to devices. Prints the id of the batch.')
    .option('--group <id>', 'all members of this group')
    .option('--device <device>', 'this device; can be repeated', collect)
    .option('--dry-run', 'print what would be created, and create nothing')
    .option('--watch', 'follow the batch until it ends')
    .action(applyProfile)
}

async function listProfiles(_options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const items = await allOf(session.client.list('/orgs/{orgId}/configs', { params: { path } }))
  session.print(items, () =>
    table(
      ['ID', 'NAME', 'MODEL', 'VERSION', 'UPDATED'],
      items.map(({ id, name, model, version, updatedAt }) => [id, name, model, version, updatedAt]),
    ),
  )
}

async function getProfile(id: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const profile = await session.client.get('/orgs/{orgId}/configs/{id}', { params: { path } })
  session.print(profile, () => JSON.stringify(profile.settings, null, 2))
}

async function createProfile(name: string, options: { settings: string; model?: string }, command: Command) {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const body = { name, settings: await readJson(options.settings), ...(options.model && { model: options.model }) }
  const profile = await session.client.post('/orgs/{orgId}/configs', { params: { path }, body })
  session.print(profile, () => profile.id)
}

async function previewProfile(profileId: string, reference: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { id: await findDeviceId(session, reference) }
  const config = await session.client.get('/devices/{id}/config', { params: { path, query: { profileId } } })
  session.print(config, () => {
    const rows = config.variables.map(({ name, value, source }) => {
      const from = source.kind === 'group' ? `group ${source.name} (priority ${source.priority})` : source.kind
      return [name, JSON.stringify(value), from]
    })
    const missing = config.missingVariables.map((name) => [name, '', 'missing: the profile cannot be applied'])
    const parts = [JSON.stringify(config.settings, null, 2)]
    if (rows.length + missing.length > 0) parts.push(table(['VARIABLE', 'VALUE', 'FROM'], [...rows, ...missing]))
    return parts.join('\n\n')
  })
}

async function printState(reference: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { id: await findDeviceId(session, reference) }
  const { desired, reported, differences, state } = await session.client.get('/devices/{id}/config', {
    params: { path },
  })
  session.print({ desired, reported, differences, state }, () => {
    const rows = differences.map((one) => [one.path, JSON.stringify(one.desired), JSON.stringify(one.reported)])
    return rows.length === 0 ? state : `${state}\n${table(['SETTING', 'APPLIED', 'ON THE DEVICE'], rows)}`
  })
}

type ApplicationPlan = components['schemas']['ConfigApplicationPlan']

/** The settings that change, of the first devices of a plan. */
function changesText({ devices }: ApplicationPlan): string[] {
  const rows = (devices ?? []).flatMap(({ name, differences }) =>
    differences.map(({ path, desired, reported }) => [name, path, JSON.stringify(reported), JSON.stringify(desired)]),
  )
  return rows.length > 0 ? [table(['DEVICE', 'SETTING', 'NOW', 'AFTER'], rows)] : []
}

type ApplyOptions = DeliveryOptions & { group?: string; device?: string[]; dryRun?: boolean; watch?: boolean }

async function applyProfile(profileId: string, options: ApplyOptions, command: Command) {
  const { group, device, dryRun, watch } = options
  if ((group === undefined) === (device === undefined)) {
    throw new CommandError('Add either --group or --device.', exitCodes.usage)
  }
  const delivery = deliveryOf(options)
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), profileId }
  const deviceIds = []
  for (const reference of device ?? []) deviceIds.push(await findDeviceId(session, reference))
  const body = { ...(group === undefined ? { deviceIds } : { groupId: group }), ...delivery }
  if (dryRun) {
    const plan = await session.client.dryRun('/orgs/{orgId}/configs/{profileId}/apply', { params: { path }, body })
    return session.print(plan, () => [planText(plan), ...changesText(plan)].join('\n'))
  }
  const batch = await session.client.post('/orgs/{orgId}/configs/{profileId}/apply', { params: { path }, body })
  if (watch) await watchBatch(session, batch.id)
  else session.print(batch, () => batch.id)
}
