import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A user of this machine, not root. */
export type Owner = { uid: number; gid: number }

/** The arguments of `spawn` and `execFile`. */
export type Call = { command: string; args: string[]; options: { uid?: number; gid?: number; cwd: string } }

/**
 * Returns the user that Postgres runs as, because Postgres refuses to run as root. For root this is the system user
 * `postgres`, which is created if missing. Otherwise it is the current user. Throws if the user cannot be created.
 */
export async function systemOwner(): Promise<Owner> {
  const { uid, gid } = userInfo()
  if (uid !== 0) return { uid, gid }
  const known = await lookUp('postgres')
  if (known) return known
  await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']).catch(() => undefined)
  const made = await lookUp('postgres')
  if (made) return made
  throw new Error(
    'Postgres does not run as root and no system user could be made: start as another user, add a user named postgres, or set POSTGRES_URL.',
  )
}

async function lookUp(name: string): Promise<Owner | undefined> {
  try {
    const ask = async (flag: string) => Number((await run('id', [flag, name])).stdout)
    const [uid, gid] = await Promise.all([ask('-u'), ask('-g')])
    return uid && gid ? { uid, gid } : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the call that runs `command` as `owner`, who must be able to read `command` and `paths`. Below a folder that
 * only root may enter, such as root's home, the program keeps the capability to enter folders. Throws if this machine
 * cannot grant it.
 */
export async function callAs(owner: Owner, command: string, args: string[], paths: string[]): Promise<Call> {
  if (owner.uid === userInfo().uid) return { command, args, options: { cwd: '/' } }
  const asOwner: RunAs = (program, rest) => ({ command: program, args: rest, options: { ...owner, cwd: '/' } })
  const everywhere = withCapability(owner, ['--securebits=+no_setuid_fixup'])
  const inData = withCapability(owner, [])
  const reachesCommand = await reaches(asOwner, [command])
  if (reachesCommand && (await reaches(asOwner, paths))) return asOwner(command, args)
  if (await reaches(everywhere, [command, ...paths])) return everywhere(command, args)
  if (reachesCommand && (await reaches(inData, paths))) return inData(command, args)
  throw new Error(
    `Postgres runs as the system user "postgres", who cannot enter the folder of ${command} or of ${paths.join(', ')}: install setpriv (package util-linux), use folders that every user may enter, start as another user, or set POSTGRES_URL.`,
  )
}

type RunAs = (command: string, args: string[]) => Call

/**
 * Runs programs as `owner` with the capability to enter every folder. Postgres finds its own programs with access(2),
 * which ignores the capabilities of non-root users unless the process has the secure bit `no_setuid_fixup`. Some
 * containers do not allow this bit.
 */
function withCapability(owner: Owner, secureBits: string[]): RunAs {
  const identity = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups']
  const capability = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override', ...secureBits]
  return (command, args) => ({
    command: 'setpriv',
    args: [...identity, ...capability, command, ...args],
    options: { cwd: '/' },
  })
}

async function reaches(runAs: RunAs, paths: string[]): Promise<boolean> {
  const script = 'for path in "$@"; do test -e "$path" || exit 1; done'
  const { command, args, options } = runAs('/bin/sh', ['-c', script, 'sh', ...paths])
  return run(command, args, options).then(
    () => true,
    () => false,
  )
}
