import { fork } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type CpuSeconds, cpuByProgram, cpuByThread, findDescendant, percentOfCore } from './cpu-by-process.ts'
import { stopChild } from './processes.ts'
import type { Bench, BenchOptions, Figure } from './report.ts'

const startLimitMs = 300_000

/** The cost of everything that `npm start` runs, while its demo fleet is the only load. */
export const idle: Bench = {
  name: 'idle',
  byNameOnly: true,
  about:
    'CPU time of all processes of `npm start` with its demo fleet of 200 routers, over two minutes, ten minutes after the start (--minutes N: N minutes; --quick: two minutes after the start, over one minute). Linux only.',
  run: measure,
}

async function measure({ quick, minutes }: BenchOptions): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-idle-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  await chmod(dir, 0o711)
  const script = fileURLToPath(new URL('../apps/stack/main.ts', import.meta.url))
  const stack = fork(script, ['--port', '0', '--data-dir', join(dir, 'data')], { stdio: ['ignore', 'pipe', 2, 'ipc'] })
  try {
    await new Promise<void>((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('The stack did not become ready.')), startLimitMs)
      let output = ''
      stack.stdout?.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (!output.includes('Ready:')) return
        clearTimeout(limit)
        resolve()
      })
      stack.once('exit', (code) => reject(new Error(`The stack ended with code ${code}: ${output}`)))
    })
    await pause((minutes ?? (quick ? 2 : 10)) * 60_000)
    return await figuresOf(stack.pid ?? 0, quick ? 60 : 120)
  } finally {
    await stopChild(stack)
    await rm(dir, { recursive: true, force: true })
  }
}

async function figuresOf(stackPid: number, seconds: number): Promise<Figure[]> {
  const questdbPid = findDescendant(stackPid, 'questdb') ?? stackPid
  const [programs, threads, startedMs] = [cpuByProgram(stackPid), cpuByThread(questdbPid), performance.now()]
  await pause(seconds * 1_000)
  const elapsedSeconds = (performance.now() - startedMs) / 1_000
  const percents = (before: CpuSeconds, after: CpuSeconds) => percentOfCore(before, after, elapsedSeconds)
  const byProgram = percents(programs, cpuByProgram(stackPid))
  const byThread = percents(threads, cpuByThread(questdbPid)).filter(([, percent]) => percent >= 0.05)
  const total = byProgram.reduce((sum, [, percent]) => sum + percent, 0)
  return [
    { name: 'all processes, % of one core', value: total.toFixed(1), target: '< 15' },
    ...byProgram.map(([name, percent]) => ({ name: `— ${name}`, value: percent.toFixed(1) })),
    ...byThread.map(([name, percent]) => ({ name: `— questdb, threads ${name}`, value: percent.toFixed(1) })),
  ]
}
