import { execFile } from 'node:child_process'
import { userInfo } from 'node:os'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Who Postgres runs as: `identity` are the spawn options that switch to it (empty when that is ourselves). */
export type Owner = { uid: number; gid: number; identity: { uid?: number; gid?: number } }

/**
 * Postgres refuses to run as root. Started by root it gets the system user `postgres`, which is made when the machine
 * has none; otherwise it runs as the user who started us. Throws one sentence when the user cannot be made.
 */
export async function systemOwner(): Promise<Owner> {
  const { uid, gid } = userInfo()
  if (uid !== 0) return { uid, gid, identity: {} }
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
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, name])).stdout)),
    )
    return uid && gid ? { uid, gid, identity: { uid, gid } } : undefined
  } catch {
    return undefined
  }
}
