import type { Command } from 'commander'
import { createClient, type Routerfleet } from '../client.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { type Profile, profilePath, readProfiles } from './profiles.ts'

/** The options that every command takes. */
export type GlobalOptions = { profile?: string; url?: string; key?: string; org?: string; json?: boolean }

/** What a command works with. */
export type Session = {
  client: Routerfleet
  baseUrl: string
  key: string
  isJson: boolean
  /** The organization of `--org`. */
  askedOrganizationId: string | undefined
  /** The organization of `--org` or of the profile. */
  chosenOrganizationId: string | undefined
  /** The organization of `--org` or of the profile. Throws if there is neither and the key can read several. */
  organizationId(): Promise<string>
  /** Prints `value` as JSON with `--json`, otherwise the text. */
  print(value: unknown, text: () => string): void
}

/**
 * Opens the session of a command: options come before the environment, and the environment before the profile. `callerKey` is the
 * key of a caller for whom the command works, and replaces the key.
 */
export function openSession(command: Command, callerKey?: string): Session {
  const options = { ...command.optsWithGlobals<GlobalOptions>(), ...(callerKey !== undefined && { key: callerKey }) }
  const { url, key, organizationId } = credentials(options)
  const client = createClient({ baseUrl: url, key })
  const chosenOrganizationId = options.org ?? organizationId
  return {
    client,
    baseUrl: url,
    key,
    isJson: options.json === true,
    askedOrganizationId: options.org,
    chosenOrganizationId,
    organizationId: async () => chosenOrganizationId ?? (await onlyOrganization(client)),
    print: (value, text) => print(options.json ? JSON.stringify(value, null, 2) : text()),
  }
}

export const print = (text: string): void => void process.stdout.write(`${text}\n`)

function credentials(options: GlobalOptions): Profile {
  const { ROUTERFLEET_URL, ROUTERFLEET_KEY, ROUTERFLEET_PROFILE } = process.env
  const { current, profiles } = readProfiles(profilePath(process.env))
  const wanted = options.profile ?? ROUTERFLEET_PROFILE
  const saved = profiles[wanted ?? current]
  if (wanted !== undefined && !saved) throw noProfile(wanted)
  const url = options.url ?? ROUTERFLEET_URL ?? saved?.url
  const key = options.key ?? ROUTERFLEET_KEY ?? saved?.key
  if (url === undefined || key === undefined) {
    throw new CommandError('You are not logged in. Run `routerfleet login`.', exitCodes.noAccess)
  }
  // The organization of the profile belongs to its key.
  return { url, key, ...(saved?.key === key && saved.organizationId && { organizationId: saved.organizationId }) }
}

const noProfile = (name: string) =>
  new CommandError(`There is no profile "${name}". Run \`routerfleet login --profile ${name}\`.`, exitCodes.noAccess)

async function onlyOrganization(client: Routerfleet): Promise<string> {
  const { items } = await client.get('/orgs', { params: { query: { limit: 2 } } })
  const [first, second] = items
  if (first && !second) return first.id
  throw new CommandError(
    first ? 'The key can read several organizations. Add `--org ID`.' : 'The key can read no organization.',
    first ? exitCodes.usage : exitCodes.noAccess,
  )
}
