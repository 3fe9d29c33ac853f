import { type Command, Option } from 'commander'
import { allOf } from '../all-of.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { openSession, print, type Session } from '../session.ts'
import { table } from '../table.ts'

type Role = 'viewer' | 'operator' | 'admin'

const roles: Role[] = ['viewer', 'operator', 'admin']

/** `people`: who works with an organization. */
export function addPeopleCommands(program: Command): void {
  const people = program.command('people').description('People, and invitations to the organization.')
  people
    .command('list')
    .description('List the people of the organization, and the invitations that nobody has accepted.')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command)
      const path = { orgId: await session.organizationId() }
      const members = await allOf(session.client.list('/orgs/{orgId}/people', { params: { path } }))
      const invitations = await allOf(session.client.list('/orgs/{orgId}/invitations', { params: { path } }))
      session.print({ people: members, invitations }, () =>
        table(
          ['NAME', 'EMAIL', 'ROLE', 'LAST USED'],
          [
            ...members.map(({ name, email, role, lastUsedAt }) => [name, email, role, lastUsedAt]),
            ...invitations.map(({ email, role, mail }) => ['(invited)', email, role, mail?.error ?? null]),
          ],
        ),
      )
    })
  people
    .command('invite <email>')
    .description('Invite a person. Prints the link, if the service does not send it.')
    .addOption(new Option('--role <role>', 'the role').choices(roles).default('viewer'))
    .action(async (email: string, { role }: { role: Role }, command: Command) => {
      const session = openSession(command)
      const path = { orgId: await session.organizationId() }
      const created = await session.client.post('/orgs/{orgId}/invitations', {
        params: { path },
        body: { email, role },
      })
      session.print(created, () => created.url ?? `The invitation is on its way to ${created.email}.`)
    })
  people
    .command('withdraw <email>')
    .description('Withdraw an invitation.')
    .action(async (email: string, _options: object, command: Command) => {
      const session = openSession(command)
      const orgId = await session.organizationId()
      const invitations = await allOf(session.client.list('/orgs/{orgId}/invitations', { params: { path: { orgId } } }))
      const { id } = withAddress(invitations, email, 'invitation')
      await session.client.delete('/orgs/{orgId}/invitations/{id}', { params: { path: { orgId, id } } })
      print(`Withdrew the invitation of ${email}.`)
    })
  people
    .command('set-role <email>')
    .description('Change the role of a person.')
    .addOption(new Option('--role <role>', 'the role').choices(roles).makeOptionMandatory())
    .action(async (email: string, { role }: { role: Role }, command: Command) => {
      const session = openSession(command)
      const path = await pathOf(session, email)
      const changed = await session.client.patch('/orgs/{orgId}/people/{id}', { params: { path }, body: { role } })
      session.print(changed, () => `${changed.name} is ${role}.`)
    })
  people
    .command('remove <email>')
    .description('Remove a person from the organization, within 5 seconds.')
    .action(async (email: string, _options: object, command: Command) => {
      const session = openSession(command)
      const path = await pathOf(session, email)
      await session.client.delete('/orgs/{orgId}/people/{id}', { params: { path } })
      print(`Removed ${email}.`)
    })
}

/** The path of a person, by the e-mail address. */
async function pathOf(session: Session, email: string): Promise<{ orgId: string; id: string }> {
  const orgId = await session.organizationId()
  const people = await allOf(session.client.list('/orgs/{orgId}/people', { params: { path: { orgId } } }))
  return { orgId, id: withAddress(people, email, 'person').id }
}

function withAddress<Entry extends { email: string }>(entries: readonly Entry[], email: string, what: string): Entry {
  const found = entries.find((entry) => entry.email === email.toLowerCase())
  if (!found) throw new CommandError(`There is no ${what} with the address ${email}.`, exitCodes.notFound)
  return found
}
