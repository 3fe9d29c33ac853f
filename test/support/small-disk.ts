import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'

/** This machine does not permit mounting a disk. */
export class NoSmallDiskError extends Error {}

/**
 * Mounts a RAM disk at `folder`. Returns a function that unmounts it and removes the folder. Throws NoSmallDiskError without
 * the permission to mount, which root has on Linux.
 */
export function mountSmallDisk(folder: string, mebibytes: number): () => void {
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'none', folder], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true })
    throw new NoSmallDiskError('needs the right to mount a small disk (run as root on Linux).')
  }
  return () => {
    execFileSync('umount', ['--lazy', folder])
    rmSync(folder, { recursive: true })
  }
}
