import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { openKafkaLog } from '#telemetry-log/kafka/kafka-log'
import type { TelemetryLog } from '#telemetry-log/log'
import { openPartitionedLog } from '#telemetry-log/segments/partitioned-log'
import { openSegmentLog, type SegmentLog } from '#telemetry-log/segments/segment-log'

// A process that appends numbered batches concurrently and prints each number when its batch is durable. It exits with the
// reason on stderr if the log cannot be opened or written.
// The target is the folder of one partition in segment files, the folder of a log with several, or `kafka://broker/topic`.
const [target = '', first = '0'] = process.argv.slice(2)
const log: TelemetryLog | SegmentLog = await open(target).catch(endWith)
let number = Number(first)
log.failed.then(endWith)

async function open(target: string): Promise<TelemetryLog | SegmentLog> {
  if (existsSync(join(target, 'layout.json'))) return openPartitionedLog({ folder: target })
  const [, broker, topic] = /^kafka:\/\/(.+)\/(.+)$/.exec(target) ?? []
  if (!broker || !topic) return openSegmentLog({ folder: target, maxSegmentBytes: 200_000 })
  return openKafkaLog({
    brokers: [broker],
    topic,
    partitions: 1,
    retentionMs: 3_600_000,
    tls: undefined,
    sasl: undefined,
  })
}

async function appendForEver(): Promise<never> {
  for (;;) {
    const own = number++
    await log.append({
      deviceId: '01890000-0000-7000-8000-0000000000aa',
      organizationId: '01890000-0000-7000-8000-0000000000bb',
      deviceClass: 'vehicle',
      receivedAtMs: Date.now(),
      oldestTsMs: 0,
      format: 'json',
      sampleCount: 1,
      body: Buffer.from(`${own}:${'z'.repeat((own * 131) % 5_000)}`),
    })
    process.stdout.write(`${own}\n`)
  }
}

function endWith(error: Error): never {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

await Promise.all(Array.from({ length: 16 }, appendForEver)).catch(endWith)
