import type { Command } from 'commander'
import { createClient } from '../../client.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { askSecret, readInput } from '../input.ts'
import { profilePath, readProfiles, writeProfiles } from '../profiles.ts'
import { type GlobalOptions, print } from '../session.ts'
import { table } from '../table.ts'

const defaultUrl = 'http://127.0.0.1:8080'

/** `login`, `logout` and `profiles`. */
export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .description('Check an API key and save it in a profile. Reads the key from the terminal or the standard input.')
    .action(async (_options: object, command: Command) => login(command.optsWithGlobals<GlobalOptions>()))
  program
    .command('logout')
    .description('Delete a profile.')
    .action((_options: object, command: Command) => logout(command.optsWithGlobals<GlobalOptions>()))
  program
    .command('profiles')
    .description('List the profiles.')
    .action((_options: object, command: Command) => listProfiles(command.optsWithGlobals<GlobalOptions>()))
}

async function login({
  profile = 'default',
  url = process.env.ROUTERFLEET_URL,
  key,
  org,
}: GlobalOptions): Promise<void> {
  const path = profilePath(process.env)
  const file = readProfiles(path)
  const address = url ?? file.profiles[profile]?.url ?? defaultUrl
  const secret = key ?? process.env.ROUTERFLEET_KEY ?? (await readKey())
  if (secret === '') throw new CommandError('The key is empty.', exitCodes.usage)
  const client = createClient({ baseUrl: address, key: secret, attempts: 1 })
  const { items } = await client.get('/orgs', { params: { query: { limit: 2 } } })
  const organizationId = org ?? (items.length === 1 ? items[0]?.id : undefined)
  const saved = { url: address, key: secret, ...(organizationId && { organizationId }) }
  writeProfiles(path, { current: profile, profiles: { ...file.profiles, [profile]: saved } })
  const name = items.length === 1 ? items[0]?.name : undefined
  print(`Logged in to ${address}${name ? ` for ${name}` : ''}. The profile is "${profile}".`)
}

const readKey = async (): Promise<string> =>
  process.stdin.isTTY ? askSecret('API key: ') : ((await readInput('-')).split('\n')[0] ?? '').trim()

function logout({ profile }: GlobalOptions): void {
  const path = profilePath(process.env)
  const { current, profiles } = readProfiles(path)
  const { [profile ?? current]: removed, ...others } = profiles
  if (!removed) throw new CommandError(`There is no profile "${profile ?? current}".`, exitCodes.notFound)
  writeProfiles(path, { current: Object.keys(others)[0] ?? 'default', profiles: others })
  print(`Deleted the profile "${profile ?? current}". The key is still valid.`)
}

function listProfiles({ json }: GlobalOptions): void {
  const { current, profiles } = readProfiles(profilePath(process.env))
  const rows = Object.entries(profiles).map(([name, { url, organizationId }]) => ({
    name,
    url,
    organizationId: organizationId ?? null,
    current: name === current,
  }))
  if (json) print(JSON.stringify(rows, null, 2))
  else
    print(
      table(
        ['NAME', 'URL', 'ORGANIZATION', 'CURRENT'],
        rows.map((row) => [row.name, row.url, row.organizationId, row.current ? 'yes' : '']),
      ),
    )
}
