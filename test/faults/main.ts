import { parseArgs } from 'node:util'
import { openClusterFaults } from './cluster/faults.ts'
import { diskFull } from './disk-full.ts'
import { type Fault, type Finding, SkipFault } from './fault.ts'
import { ingestKilled } from './ingest-killed.ts'
import { jobsPostgresKilled } from './jobs-postgres-killed.ts'
import { jobsRedisLost } from './jobs-redis-lost.ts'
import { jobsWorkerKilled } from './jobs-worker-killed.ts'
import { linksCut } from './links-cut.ts'
import { postgresAway } from './postgres-away.ts'
import { postgresOutages } from './postgres-outages.ts'
import { questdbKilled } from './questdb-killed.ts'
import { stoppedUnderLoad } from './stopped-under-load.ts'

// npm run test:faults -- [--cluster] [--quick] [--only NAME]…: kills real processes. Exit code 1 if an invariant broke.
const faultsOfProcesses: Fault[] = [
  ingestKilled,
  questdbKilled,
  linksCut,
  postgresAway,
  postgresOutages,
  stoppedUnderLoad,
  diskFull,
  jobsRedisLost,
  jobsWorkerKilled,
  jobsPostgresKilled,
]

const { values } = parseArgs({
  options: {
    cluster: { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
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

let broken = 0
for (const fault of chosen) {
  const startedMs = Date.now()
  const findings = await fault.run({ quick: values.quick }).catch(explain)
  console.log(`\n${fault.name} (${((Date.now() - startedMs) / 1000).toFixed(0)} s)`)
  for (const { what, held, detail } of findings) console.log(`  ${held ? 'held  ' : 'BROKEN'}  ${what}: ${detail}`)
  broken += findings.filter(({ held }) => !held).length
}
await cluster?.close()
console.log(`\n${broken === 0 ? 'All invariants held.' : `${broken} invariants broke.`}`)
process.exit(broken === 0 ? 0 : 1)

function explain(error: unknown): Finding[] {
  if (error instanceof SkipFault) return [{ what: 'skipped', held: true, detail: error.message }]
  return [{ what: 'the run itself', held: false, detail: error instanceof Error ? (error.stack ?? '') : String(error) }]
}
