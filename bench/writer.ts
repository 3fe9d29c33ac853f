import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { nodeFlags } from '../apps/stack/apps.ts'
import type { Bench, Figure } from './report.ts'
import { median, medianRatio, shown } from './statistics.ts'
import { workloads } from './writer-traffic.ts'

const script = fileURLToPath(new URL('./writer-process.ts', import.meta.url))
const targetsUs: Readonly<Record<string, number>> = { drive: 3, minute: 4, trip: 5.5, live: 8.5, parked: 8 }

/** CPU and rows of a sample, in microseconds. */
type Round = { cpuUs: number; parseUs: number; rows: number }

/** The writer alone: reports in memory, and stores that take rows at once. */
export const writer: Bench = {
  name: 'writer',
  about:
    'CPU of the writer for each sample, from the bytes of reports to the bytes of rows, on all threads with garbage collection, at the times of the reports. Compared with JSON.parse of the same reports.',
  byNameOnly: true,
  async run({ quick }) {
    const rounds = new Map<string, Round[]>(Object.keys(workloads).map((name) => [name, []]))
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      for (const [name, found] of rounds) found.push(await play(name))
    }
    return [...rounds].map(([name, found]) => figure(name, found))
  },
}

async function play(name: string): Promise<Round> {
  const { stdout } = await promisify(execFile)('node', [...nodeFlags, script, name])
  return JSON.parse(stdout) as Round
}

function figure(name: string, rounds: readonly Round[]): Figure {
  const of = (read: (round: Round) => number) => rounds.map(read)
  const cpuUs = of((round) => round.cpuUs)
  return {
    name: `${name}: ${workloads[name]?.about}; µs a sample`,
    value: `${shown(cpuUs, 1)}; ${median(of((round) => round.rows)).toFixed(2)} rows a sample`,
    ratio: `${medianRatio(
      cpuUs,
      of((round) => round.parseUs),
    ).toFixed(1)} × JSON.parse`,
    target: `≤ ${targetsUs[name]} µs`,
  }
}
