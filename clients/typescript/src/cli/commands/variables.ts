import type { Command } from 'commander'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { readArgument } from '../input.ts'
import { typedValue } from '../json-value.ts'
import { openSession, type Session } from '../session.ts'
import { table } from '../table.ts'

type Owner = { group?: string; device?: string }

type VariableSet = { variables: Record<string, unknown>; priority?: number }

/** `variables`. */
export function addVariableCommands(program: Command): void {
  const variables = program.command('variables').description('Values to which config profiles refer.')
  const forOwner = (command: Command) =>
    command
      .option('--group <id>', 'those of this group; without --group and --device, those of the organization')
      .option('--device <device>', 'those of this device')
  forOwner(variables.command('list')).description('List variables. Secrets are redacted.').action(listVariables)
  forOwner(variables.command('set <name> <value>'))
    .description(
      'Set a variable. The value is JSON or a text: itself, @file, or - for the standard input. A number that would not keep its digits, such as an ICCID or 1.10, is set as a text.',
    )
    .option('--secret', 'never show the value again')
    .action(setVariable)
  forOwner(variables.command('remove <name>')).description('Remove a variable.').action(removeVariable)
  variables
    .command('priority <group> <number>')
    .description('Set the priority of a group: of two groups with a value, the higher one wins.')
    .action(setPriority)
}

async function listVariables(owner: Owner, command: Command): Promise<void> {
  const session = openSession(command)
  const { set } = await readSet(session, owner)
  session.print(set, () =>
    table(
      ['NAME', 'VALUE'],
      Object.entries(set.variables).map(([name, value]) => [name, JSON.stringify(value)]),
    ),
  )
}

async function setVariable(name: string, argument: string, options: Owner & { secret?: boolean }, command: Command) {
  const session = openSession(command)
  const value = await readValue(argument)
  await changeSet(session, options, ({ variables }) => ({
    variables: { ...variables, [name]: options.secret ? { $secret: value } : value },
  }))
}

async function removeVariable(name: string, owner: Owner, command: Command): Promise<void> {
  const session = openSession(command)
  await changeSet(session, owner, ({ variables: { [name]: removed, ...others } }) => {
    if (removed === undefined) throw new CommandError(`There is no variable ${name}.`, exitCodes.notFound)
    return { variables: others }
  })
}

async function setPriority(group: string, number: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  await changeSet(session, { group }, ({ variables }) => ({ variables, priority: Number(number) }))
}

/** Without the newline at the end of a file. */
async function readValue(argument: string): Promise<unknown> {
  const text = await readArgument(argument)
  return typedValue(text === argument ? text : text.replace(/\r?\n$/, ''))
}

/** The route of a set. All three take the same body. */
type SetRoute = { route: '/orgs/{orgId}/groups/{groupId}/variables'; path: { orgId: string; groupId: string } }

async function routeOf(session: Session, { group, device }: Owner): Promise<SetRoute> {
  const routed = (route: string, path: Record<string, string>) => ({ route, path }) as unknown as SetRoute
  if (group !== undefined && device !== undefined) {
    throw new CommandError('Add either --group or --device.', exitCodes.usage)
  }
  if (device !== undefined) return routed('/devices/{id}/variables', { id: await findDeviceId(session, device) })
  const orgId = await session.organizationId()
  if (group === undefined) return routed('/orgs/{orgId}/variables', { orgId })
  return routed('/orgs/{orgId}/groups/{groupId}/variables', { orgId, groupId: group })
}

async function readSet(session: Session, owner: Owner) {
  const { route, path } = await routeOf(session, owner)
  const { data, response } = await session.client.api.GET(route, { params: { path } })
  if (data === undefined) throw new Error('The response has no variables.')
  return { route, path, set: data as VariableSet, tag: response.headers.get('etag') ?? '*' }
}

/** Replaces a set by what was read, changed. Fails if another caller changes it meanwhile. */
async function changeSet(session: Session, owner: Owner, change: (set: VariableSet) => VariableSet): Promise<void> {
  const { route, path, set, tag } = await readSet(session, owner)
  const body = change(set)
  const { data } = await session.client.api.PUT(route, { params: { path }, headers: { 'If-Match': tag }, body })
  session.print(data, () => 'Saved. Jobs that were created before keep their values.')
}
