import type { Progress } from './progress.ts'

// A Ctrl-C arrives up to three times: from the terminal, from npm and from the process that started us.
const sameIntentMs = 2_000

/**
 * Aborts when this process is told to stop: by SIGINT, SIGTERM or SIGHUP, or because whoever started it is gone. Told
 * again later it exits at once; what then still runs is stopped by the next start.
 */
export function interruption(progress: Progress): AbortSignal {
  const interrupted = new AbortController()
  let firstAtMs = 0
  const interrupt = () => {
    if (!interrupted.signal.aborted) {
      firstAtMs = Date.now()
      progress.say('Stopping. Ctrl-C again leaves at once.')
      interrupted.abort()
    } else if (Date.now() - firstAtMs > sameIntentMs) process.exit(1)
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
  if (process.channel) process.once('disconnect', interrupt)
  return interrupted.signal
}
