import { futimesSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { confirmLease, type Lease } from './lease.ts'

// A separate thread keeps the lock alive while the main event loop is busy.
const { fd, lease, beatMs } = workerData as { fd: number; lease: Lease; beatMs: number }

function beat(): void {
  try {
    // Other processes watch the file's time. Updating it needs no disk space and reaches a file server at once.
    futimesSync(fd, new Date(), new Date())
    if (confirmLease(lease)) return
  } catch {
    // The next beat tries again; until one succeeds the lease is not confirmed.
    return
  }
  clearInterval(beating)
  parentPort?.postMessage('lost')
}

const beating = setInterval(beat, beatMs)
beat()
