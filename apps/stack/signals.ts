import type { Progress } from './progress.ts'

// One Ctrl-C can arrive three times: from the terminal, from npm and from the parent process.
const sameIntentMs = 2_000

/**
 * Aborts on SIGINT, SIGTERM or SIGHUP, or when the parent process has ended. A second signal exits immediately; the next
 * start then stops the remaining processes.
 */
export function interruption(progress: Progress): AbortSignal {
  const interrupted = new AbortController()
  let firstAtMs = 0
  const interrupt = () => {
    if (!interrupted.signal.aborted) {
      firstAtMs = Date.now()
      progress.say('Stopping. Press Ctrl-C again to exit immediately.')
      interrupted.abort()
    } else if (Date.now() - firstAtMs > sameIntentMs) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  if (process.channel) process.once('disconnect', interrupt)
  return interrupted.signal
}
