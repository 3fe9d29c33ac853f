import type { Command } from 'commander'
import { allOf } from '../all-of.ts'
import { findDeviceId } from '../find-device.ts'
import { collect } from '../input.ts'
import { openSession } from '../session.ts'
import { table } from '../table.ts'

/** `groups`. */
export function addGroupCommands(program: Command): void {
  const groups = program.command('groups').description('Groups of devices.')
  groups.command('list').description('List groups.').action(listGroups)
  groups
    .command('create <name>')
    .description('Create a group. Prints its id.')
    .option('--tag <tag>', 'a smart tag: the group contains all devices with it; can be repeated', collect)
    .action(createGroup)
  groups.command('members <group>').description('List the effective members of a group.').action(listMembers)
  groups.command('add <group> <device...>').description('Add explicit members to a group.').action(addMembers)
  groups.command('remove <group> <device>').description('Remove an explicit member from a group.').action(removeMember)
}

async function listGroups(_options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const items = await allOf(session.client.list('/orgs/{orgId}/groups', { params: { path } }))
  session.print(items, () =>
    table(
      ['ID', 'NAME', 'DEVICES', 'SMART TAGS'],
      items.map(({ id, name, effectiveDeviceCount, smartTags }) => [
        id,
        name,
        effectiveDeviceCount,
        smartTags.join(', '),
      ]),
    ),
  )
}

async function createGroup(name: string, { tag }: { tag?: string[] }, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const body = { name, ...(tag && { smartTags: tag }) }
  const group = await session.client.post('/orgs/{orgId}/groups', { params: { path }, body })
  session.print(group, () => group.id)
}

async function listMembers(id: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const items = await allOf(session.client.list('/orgs/{orgId}/groups/{id}/devices', { params: { path } }))
  session.print(items, () =>
    table(
      ['ID', 'SERIAL', 'NAME', 'STATUS', 'MEMBERSHIP'],
      items.map((device) => [device.id, device.serial, device.name, device.status, device.membership]),
    ),
  )
}

async function addMembers(id: string, references: string[], _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const deviceIds = []
  for (const reference of references) deviceIds.push(await findDeviceId(session, reference))
  const result = await session.client.post('/orgs/{orgId}/groups/{id}/members', {
    params: { path },
    body: { deviceIds },
  })
  session.print(result, () => `Added ${result.added} devices; ${result.alreadyMembers} already were members.`)
}

async function removeMember(id: string, reference: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const deviceId = await findDeviceId(session, reference)
  const path = { orgId: await session.organizationId(), id, deviceId }
  await session.client.delete('/orgs/{orgId}/groups/{id}/members/{deviceId}', { params: { path } })
  session.print({ removed: deviceId }, () => `Removed ${reference}.`)
}
