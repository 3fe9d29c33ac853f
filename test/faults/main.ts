import { parseArgs } from 'node:util'
import { openClusterFaults } from './cluster/faults.ts'
import { diskFull } from './disk-full.ts'
import { type Fault, type Finding, SkipFault } from './fault.ts'
import { ingestKilled } from './ingest-killed.ts'
import { jobsPostgresKilled } from './jobs-postgres-killed.ts'
import { jobsRedisLost } from './jobs-redis-lost.ts'
import { jobsWorkerKilled } from './jobs-worker-killed.ts'
import { linksCut } from './links-cut.ts'
import { momentsKilled } from './moments-killed.ts'
import { postgresAway } from './postgres-away.ts'
import { postgresOutages } from './postgres-outages.ts'
import { questdbKilled } from './questdb-killed.ts'
import { stoppedUnderLoad } from './stopped-under-load.ts'

// npm run test:faults -- [--cluster] [--quick] [--retry] [--only NAME]…: kills real processes. Exit code 1 if an invariant
// broke. With --retry, a fault that does not finish is run once more; one whose invariant broke is not.

// Longest first, so that none is left at the end.
const faultsOfProcesses: Fault[] = [
  postgresOutages,
  momentsKilled,
  ingestKilled,
  diskFull,
  questdbKilled,
  stoppedUnderLoad,
  linksCut,
  jobsWorkerKilled,
  postgresAway,
  jobsRedisLost,
  jobsPostgresKilled,
]

const { values } = parseArgs({
  options: {
    cluster: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
    retry: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
  },
})
const cluster = values.cluster ? openClusterFaults() : undefined
const faults = cluster?.faults ?? faultsOfProcesses
const chosen = faults.filter(({ name }) => values.only === undefined || values.only.includes(name))
if (chosen.length === 0) {
  console.error(`Unknown fault ${values.only?.join(', ')}. Faults: ${faults.map(({ name }) => name).join(', ')}.`)
  process.exit(2)
}

const runItself = 'the run itself'
const broken: string[] = []
// Each fault has engines of its own and waits most of the time, so two run side by side. All faults of a cluster share one.
const waiting = [...chosen]
await Promise.all(Array.from({ length: cluster ? 1 : 2 }, runInTurn))
await cluster?.close()
console.log(`\n${broken.length === 0 ? 'All invariants held.' : `Broken:\n${broken.join('\n')}`}`)
process.exit(broken.length === 0 ? 0 : 1)

async function runInTurn(): Promise<void> {
  for (let fault = waiting.shift(); fault; fault = waiting.shift()) {
    let findings = await runFault(fault)
    if (values.retry && findings.some(({ what }) => what === runItself)) {
      console.log(`  REPEATED  ${fault.name}, because of: ${findings[0]?.detail.split('\n')[0]}`)
      findings = await runFault(fault)
    }
    for (const { what, held } of findings) if (!held) broken.push(`${fault.name}: ${what}`)
  }
}

async function runFault(fault: Fault): Promise<Finding[]> {
  const startedMs = Date.now()
  const findings = await fault.run({ quick: values.quick }).catch(explain)
  console.log(`\n${fault.name} (${((Date.now() - startedMs) / 1000).toFixed(0)} s)`)
  for (const { what, held, detail } of findings) console.log(`  ${held ? 'held  ' : 'BROKEN'}  ${what}: ${detail}`)
  return findings
}

function explain(error: unknown): Finding[] {
  if (error instanceof SkipFault) return [{ what: 'skipped', held: true, detail: error.message }]
  return [{ what: runItself, held: false, detail: error instanceof Error ? (error.stack ?? '') : String(error) }]
}
