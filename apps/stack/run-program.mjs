import { spawn } from 'node:child_process'

const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs a program and resolves with its exit code. Forwards the signals that this process receives. With `onOutput`, passes
 * the output of the program to it instead of to the terminal.
 */
export function runProgram(command, args, { onOutput, ...options }) {
  const stdio = onOutput ? ['inherit', 'pipe', 'pipe'] : 'inherit'
  const child = spawn(command, args, { stdio, ...options })
  if (onOutput) for (const stream of [child.stdout, child.stderr]) stream.on('data', onOutput)
  const forward = (signal) => child.kill(signal)
  for (const signal of forwardedSignals) process.on(signal, forward)
  const orphaned = whenOrphaned(() => forward('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      for (const name of forwardedSignals) process.off(name, forward)
      clearInterval(orphaned)
      resolve(signal ? 1 : (code ?? 1))
    })
  })
}

/**
 * Calls back after the npm that started this process was killed. There is no signal for this, but the parent process
 * changes. (The scripts in package.json use `exec`, because a shell between npm and this process would not forward signals
 * and would remain the parent.)
 */
function whenOrphaned(callback) {
  if (!process.env.npm_lifecycle_event) return undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    callback()
  }, 500)
  return timer
}
