import { chmodSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CommandError } from './exit-codes.ts'

/** Where and as whom a person works. `organizationId` is the default of `--org`. */
export type Profile = { url: string; key: string; organizationId?: string }
type ProfileFile = { current: string; profiles: Record<string, Profile> }

type Environment = Record<string, string | undefined>

/** The file with the profiles: `ROUTERFLEET_PROFILES`, otherwise in the configuration folder of the user. */
export const profilePath = (environment: Environment): string =>
  environment.ROUTERFLEET_PROFILES ??
  join(environment.XDG_CONFIG_HOME || join(homedir(), '.config'), 'routerfleet', 'profiles.json')

export function readProfiles(path: string): ProfileFile {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return { current: 'default', profiles: {} }
  }
  try {
    return JSON.parse(text) as ProfileFile
  } catch {
    throw new CommandError(`${path} is not JSON. Delete it and log in again.`)
  }
}

/** Writes the file for its owner only. A crash leaves the previous file. */
export function writeProfiles(path: string, file: ProfileFile): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 })
  chmodSync(draft, 0o600)
  renameSync(draft, path)
}
