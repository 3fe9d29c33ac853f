import type { MessagePort } from 'node:worker_threads'
import type { PartitionedLog } from '#telemetry-log/segments/partitioned-log'
import type { SegmentLog } from '#telemetry-log/segments/segment-log'
import { startWriterThread, type WriterHandle, type WriterParts } from './handle.ts'

/** One partition of the log with its writer. */
export type PartitionInThread = { log: SegmentLog; writer: WriterHandle }

export type Writers = {
  partitions: readonly PartitionInThread[]
  /** Resolves when one of the threads has ended without `stop`. */
  failed: Promise<Error>
  /** Returns a function that confirms that Postgres has the changes of every `onStored` until now. */
  confirmation(): () => void
  /** Tells the writers the organizations whose moments they must tell. */
  awaitMoments(organizations: readonly string[]): void
  /** Stops all writers. */
  stop(): Promise<void>
}

type WritersParts = Omit<WriterParts, 'partition' | 'lease' | 'decoding' | 'schemaMemory'> & {
  log: PartitionedLog
  /** One port for each writer, to the thread that decodes dense bodies. */
  decoding: readonly MessagePort[]
}

/** Starts one writer thread for each partition of the log. */
export function startWriters({ log, decoding, ...parts }: WritersParts): Writers {
  const schemaMemory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  const partitions = log.all.map((partition, index): PartitionInThread => {
    const port = decoding[index]
    if (!port) throw new Error(`Writer ${index} has no port to the thread that decodes dense bodies.`)
    const writer = startWriterThread({ ...parts, schemaMemory, partition, lease: log.lease, decoding: port })
    return { log: partition.log, writer }
  })
  const writers = partitions.map(({ writer }) => writer)
  return {
    partitions,
    failed: Promise.race(writers.map(({ failed }) => failed)),
    confirmation() {
      const numbers = writers.map((writer) => [writer, writer.toldNumber()] as const)
      return () => {
        for (const [writer, number] of numbers) writer.confirm(number)
      }
    },
    awaitMoments(organizations) {
      for (const writer of writers) writer.awaitMoments(organizations)
    },
    async stop() {
      await Promise.all(writers.map((writer) => writer.stop()))
    },
  }
}
