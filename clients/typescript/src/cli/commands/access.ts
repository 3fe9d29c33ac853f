import type { Command } from 'commander'
import { allOf } from '../all-of.ts'
import { openSession, print } from '../session.ts'
import { table } from '../table.ts'

type Role = 'viewer' | 'operator' | 'admin'

/** `orgs` and `keys`. */
export function addAccessCommands(program: Command): void {
  const organizations = program.command('orgs').description('Organizations.')
  organizations
    .command('list')
    .description('List the organizations that you can read.')
    .action(async (_options: object, command: Command) => {
      const { client, print } = openSession(command)
      const items = await allOf(client.list('/orgs'))
      print(items, () =>
        table(
          ['ID', 'NAME', 'PLAN', 'SUBSCRIPTION'],
          items.map(({ id, name, plan, subscription }) => [id, name, plan, subscription.status]),
        ),
      )
    })
  organizations
    .command('create <name>')
    .description('Create an organization. Needs the key of a platform administrator. Prints its id.')
    .option('--plan <plan>', 'the plan', 'free')
    .action(async (name: string, { plan }: { plan: string }, command: Command) => {
      const { client, print } = openSession(command)
      const created = await client.post('/orgs', { body: { name, plan } })
      print(created, () => created.id)
    })

  const keys = program.command('keys').description('API keys.')
  keys
    .command('create <name>')
    .description('Create an API key. Prints the key, which is shown only once.')
    .option('--role <role>', 'viewer, operator or admin', 'viewer')
    .action(async (name: string, { role }: { role: Role }, command: Command) => {
      const session = openSession(command)
      const path = { orgId: await session.organizationId() }
      const created = await session.client.post('/orgs/{orgId}/api-keys', { params: { path }, body: { name, role } })
      session.print(created, () => created.key)
    })
  keys
    .command('list')
    .description('List the API keys of the organization.')
    .action(async (_options: object, command: Command) => {
      const session = openSession(command)
      const path = { orgId: await session.organizationId() }
      const items = await allOf(session.client.list('/orgs/{orgId}/api-keys', { params: { path } }))
      session.print(items, () =>
        table(
          ['ID', 'NAME', 'SCOPES', 'CREATED'],
          items.map(({ id, name, scopes, createdAt }) => [id, name, scopes.length, createdAt]),
        ),
      )
    })
  keys
    .command('revoke <id>')
    .description('Revoke an API key.')
    .action(async (id: string, _options: object, command: Command) => {
      const session = openSession(command)
      const path = { orgId: await session.organizationId(), id }
      await session.client.delete('/orgs/{orgId}/api-keys/{id}', { params: { path } })
      print(`Revoked ${id}.`)
    })
}
