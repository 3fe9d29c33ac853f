import { futimesSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { confirmLease, type Lease } from '#telemetry-log/lease'

// A thread of its own: it keeps the lock alive while the event loop of the accept path is busy for seconds.
const { fd, lease, beatMs } = workerData as { fd: number; lease: Lease; beatMs: number }

function beat(): void {
  try {
    // Others watch the file's time. A time needs no room on a full disk and reaches a file server at once.
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
