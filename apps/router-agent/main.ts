import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { errorText } from '#core/error-text'
import { pause } from '#core/schedule'
import { createBackoff } from './backoff.ts'
import { readAgentConfig } from './config.ts'
import { misconfiguredExitCode, restartExitCode } from './restart.ts'

// The token, the config with its secrets and the positions are only for the user of the agent.
process.umask(0o077)

// Supervises the agent, as init does on a router: restarts it when a job requests it or when it has crashed.
const program = fileURLToPath(new URL('./router-process.ts', import.meta.url))
const arguments_ = process.argv.slice(2)
const longRunMs = 60_000
const replayStartedAtMs = Date.now()
let restarted = false

try {
  readAgentConfig(arguments_)
} catch (error) {
  process.stderr.write(`${errorText(error)}\n`)
  process.exit(misconfiguredExitCode)
}

const crashes = createBackoff({ baseMs: 500, maxMs: 30_000 })
const stopping = new AbortController()
for (;;) {
  const startedAt = performance.now()
  const replay = ['--replay-started-at-ms', String(replayStartedAtMs), ...(restarted ? ['--restarted'] : [])]
  const agent = fork(program, [...arguments_, ...replay])
  restarted = true
  const forward = (signal: NodeJS.Signals) => {
    stopping.abort()
    agent.kill(signal)
  }
  const leave = () => forward('SIGTERM')
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward)
  process.on('disconnect', leave)
  const code = await new Promise<number | null>((resolve) => agent.once('exit', resolve))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, forward)
  process.off('disconnect', leave)

  if (code === 0 || code === misconfiguredExitCode || stopping.signal.aborted) process.exit(code ?? 0)
  if (performance.now() - startedAt > longRunMs) crashes.reset()
  if (code !== restartExitCode) await pause(crashes.next())
}
