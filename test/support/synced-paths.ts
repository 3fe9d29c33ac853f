import fs from 'node:fs'
import { open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

/** The reason why syncs cannot be observed here; null if they can. */
export const syncsMissing: string | null = process.platform === 'linux' ? null : 'only Linux names open files in /proc'

/** Runs the work and returns the paths of the files and folders that it has synced to disk, in order. */
export async function syncedPaths(work: () => unknown): Promise<string[]> {
  const paths: string[] = []
  const record = (fd: number) => void paths.push(fs.readlinkSync(`/proc/self/fd/${fd}`))
  const handle = await open('/dev/null')
  const prototype = Object.getPrototypeOf(handle)
  await handle.close()
  const { fsyncSync, fdatasyncSync } = fs
  const { sync } = prototype
  fs.fsyncSync = (fd) => {
    record(fd)
    fsyncSync(fd)
  }
  fs.fdatasyncSync = (fd) => {
    record(fd)
    fdatasyncSync(fd)
  }
  prototype.sync = function (this: { fd: number }) {
    record(this.fd)
    return sync.call(this)
  }
  syncBuiltinESMExports()
  try {
    await work()
  } finally {
    Object.assign(fs, { fsyncSync, fdatasyncSync })
    prototype.sync = sync
    syncBuiltinESMExports()
  }
  return paths
}
