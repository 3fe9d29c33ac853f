import { memoryFigures } from './device-memory.ts'
import type { Bench } from './report.ts'

/** What a device costs when a million of them share one machine. */
export const million: Bench = {
  name: 'million',
  byNameOnly: true,
  about:
    'Memory of the parts that keep something of each device, filled in a process of their own without databases: a device reports one sample of each kind every five minutes, three times (--devices N: N devices instead of 100,000; --quick: 20,000).',
  run: ({ quick, devices }) => memoryFigures(devices ?? (quick ? 20_000 : 100_000)),
}
