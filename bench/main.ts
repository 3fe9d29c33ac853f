import { parseArgs } from 'node:util'
import { alerts } from './alerts.ts'
import { comparisons } from './comparisons.ts'
import { deviceList } from './device-list.ts'
import { fleetGps } from './fleet-gps.ts'
import { forecast } from './forecast.ts'
import { freshness } from './freshness.ts'
import { goodMoments } from './good-moments.ts'
import { groupCount } from './group-count.ts'
import { groupDispatch } from './group-dispatch.ts'
import { idle } from './idle.ts'
import { ingestAccept } from './ingest-accept.ts'
import { kafkaPath } from './kafka-path.ts'
import { latestHistory } from './latest-history.ts'
import { listValues } from './list-values.ts'
import { longPoll } from './long-poll.ts'
import { mapPage } from './map-page.ts'
import { million } from './million.ts'
import { millionSoak } from './million-soak.ts'
import { mqttGateway } from './mqtt-gateway.ts'
import { partitions } from './partitions.ts'
import { recovery, recoveryKafka, recoveryParked } from './recovery.ts'
import { type Bench, table } from './report.ts'
import { rows } from './rows.ts'
import { smallReports } from './small-reports.ts'
import { soak } from './soak.ts'
import { wholePath } from './whole-path.ts'
import { writer } from './writer.ts'

// npm run bench -- [--quick] [--only NAME] [--devices N] [--votes N] [--rounds N] [--minutes N] [--start-within MINUTES]: compares each figure with a
// reference of the same run. Benches that would start later than `--start-within` are skipped.
const benches: Bench[] = [
  ingestAccept,
  wholePath,
  smallReports,
  writer,
  partitions,
  kafkaPath,
  recovery,
  recoveryKafka,
  recoveryParked,
  freshness,
  mqttGateway,
  rows,
  deviceList,
  listValues,
  groupCount,
  alerts,
  latestHistory,
  fleetGps,
  forecast,
  comparisons,
  mapPage,
  soak,
  groupDispatch,
  goodMoments,
  longPoll,
  idle,
  million,
  millionSoak,
]

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    devices: { type: 'string' },
    votes: { type: 'string' },
    rounds: { type: 'string' },
    minutes: { type: 'string' },
    'start-within': { type: 'string' },
  },
})
const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text))
const options = {
  ...{ quick: values.quick, devices: numberOf(values.devices), minutes: numberOf(values.minutes) },
  ...{ votes: numberOf(values.votes), rounds: numberOf(values.rounds) },
}
const chosen = benches.filter(({ name, byNameOnly }) => (values.only ? name === values.only : !byNameOnly))
if (chosen.length === 0) {
  console.error(`Unknown benchmark ${values.only}. Benchmarks: ${benches.map((bench) => bench.name).join(', ')}.`)
  process.exit(2)
}
const startWithinMs = (numberOf(values['start-within']) ?? Number.POSITIVE_INFINITY) * 60_000
const skipped: string[] = []
const benchesStartedMs = performance.now()
for (const bench of chosen) {
  const startedMs = performance.now()
  if (startedMs - benchesStartedMs > startWithinMs) {
    skipped.push(bench.name)
    continue
  }
  console.log(`\n## ${bench.name}\n\n${bench.about}\n`)
  console.log(table(await bench.run(options)))
  console.log(`\nTook ${Math.round((performance.now() - startedMs) / 1_000)} s.`)
}
if (skipped.length > 0) console.log(`\nSkipped because the time was over: ${skipped.join(', ')}.`)
