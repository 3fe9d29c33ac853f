import { availableParallelism } from 'node:os'
import type { Registry } from 'prom-client'
import type { QuestdbServer } from '#questdb/server/servers'
import { logBudget } from '#telemetry-log/segments/log-budget'
import { openPartitionedLog } from '#telemetry-log/segments/partitioned-log'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'
import type { IngestConfig } from './config.ts'
import type { DeviceTraffic } from './http/device-traffic.ts'
import { createBacklog } from './report/backlog.ts'
import { openLargeReports } from './report/large-reports.ts'
import type { ReportStore } from './report-store.ts'
import { registerSampleMetrics } from './writer/sample-metrics.ts'
import { type PartitionInThread, startWriters } from './writer/writers.ts'

export type SegmentStoreParts = {
  config: IngestConfig
  questdb: QuestdbServer
  retentionDays: number
  traffic: DeviceTraffic
  registry: Registry
  onStored: (told: ToldByRows) => void
}

/** Opens the log in segment files and starts its writers. Rejects if another process uses the folder. */
export async function openSegmentStore(parts: SegmentStoreParts): Promise<ReportStore> {
  const { config, questdb, retentionDays, traffic, registry, onStored } = parts
  const { budgetBytes, maxSegmentBytes, earlyDeletionBytes } = logBudget(config.LOG_DIR, config.LOG_BUDGET_BYTES)
  const log = await openPartitionedLog({
    folder: config.LOG_DIR,
    partitions: config.LOG_PARTITIONS,
    partitionsIfNew: partitionsOfNewLog(),
    maxSegmentBytes,
  })
  const checksFailed = Promise.withResolvers<Error>()
  const large = openLargeReports(log.partitions, checksFailed.resolve)
  const decoding = large.writerPorts
  const writers = startWriters({
    logLevel: config.LOG_LEVEL,
    ...{ questdb, retentionDays, log, earlyDeletionBytes, decoding, onStored },
  })
  const sumOf = (read: (partition: PartitionInThread) => number) =>
    writers.partitions.reduce((sum, partition) => sum + read(partition), 0)
  const backlog = createBacklog({
    folder: config.LOG_DIR,
    budgetBytes,
    traffic,
    tailPosition: () => sumOf((partition) => partition.log.tail().position),
    storedPosition: () => sumOf((partition) => partition.writer.progress().position),
    isQueueFull: (deviceId) => {
      const partitions = deviceId === undefined ? log.all : [log.partitionOf(deviceId)]
      return partitions.some((partition) => partition.log.queue().isFull)
    },
  })
  registerSampleMetrics(registry, { lease: log.lease, writers, backlog })
  return {
    log,
    backlog,
    large,
    failed: Promise.race([log.failed, writers.failed, checksFailed.promise]),
    whyNotReady: () => undefined,
    confirmation: writers.confirmation,
    awaitMoments: writers.awaitMoments,
    async close() {
      await log.drain()
      await writers.stop()
      await large.close()
      await log.close()
    },
  }
}

/** Half of the cores: the other half accepts reports and runs QuestDB. */
const partitionsOfNewLog = (): number => Math.min(8, Math.max(1, Math.floor(availableParallelism() / 2)))
