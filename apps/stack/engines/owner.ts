import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A user of this machine other than root. */
export type Owner = { uid: number; gid: number }

/** A program call as `spawn` and `execFile` take it. */
export type Call = { command: string; args: string[]; options: { uid?: number; gid?: number; cwd: string } }

/**
 * Who Postgres runs as, since it refuses root: started by root that is the system user `postgres`, which is made when
 * the machine has none; otherwise the user who started us. Throws one sentence when the user cannot be made.
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
 * The call of `command` as `owner`, who must be able to reach `paths`. Below a private folder, such as root's home,
 * another user reaches nothing; there the program keeps one capability of root, to pass through folders.
 */
export async function callAs(owner: Owner, command: string, args: string[], paths: string[]): Promise<Call> {
  if (owner.uid === userInfo().uid) return { command, args, options: { cwd: '/' } }
  const options = { ...owner, cwd: '/' }
  if (await reaches(options, [command, ...paths])) return { command, args, options }
  const identity = [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups']
  const capability = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  return { command: 'setpriv', args: [...identity, ...capability, command, ...args], options: { cwd: '/' } }
}

async function reaches(options: Owner & { cwd: string }, paths: string[]): Promise<boolean> {
  const script = 'for path in "$@"; do test -e "$path" || exit 1; done'
  return run('sh', ['-c', script, 'sh', ...paths], options).then(
    () => true,
    () => false,
  )
}
