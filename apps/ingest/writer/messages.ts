import type { MessagePort } from 'node:worker_threads'
import type { Lease } from '#telemetry-log/lock/lease'
import type { PartitionPlace } from '#telemetry-log/segments/layout'
import type { PartitionFigures } from '#telemetry-writer/open-partition'
import type { ToldByRows } from '#telemetry-writer/states/device-reports'

/** What the writer thread is started with. Secrets cross as text: class instances do not survive the crossing. */
export type WriterSettings = {
  /** The partition of this writer. */
  place: PartitionPlace
  tailMemory: SharedArrayBuffer
  /** The right to write in the log's folder; it ends when another process takes the log over. */
  lease: Lease
  /** With more than this in the log's folder, stored segments are deleted before their time. */
  earlyDeletionBytes: number
  questdb: { url: string; pgUrl: string; user: string; password: string }
  retentionDays: number
  /** An integer that is 1 when one of the writers of this process has applied the schema to QuestDB. */
  schemaMemory: SharedArrayBuffer
  /** Leads to the thread that decodes dense bodies. */
  decoding: MessagePort
  logLevel: string
}

/** The progress of the writer. */
export type WriterProgress = PartitionFigures & { suspendedTables: number }

export type FromWriter =
  | { kind: 'progress'; progress: WriterProgress }
  /** `number` is for the confirmation. */
  | { kind: 'stored'; told: ToldByRows; number: number }
  | { kind: 'stopped' }

/**
 * `confirm`: Postgres has the changes with this number and all before it. `await`: the organizations whose moments must be told, as
 * in `DeviceMoments`.
 */
export type ToWriter =
  | { kind: 'stop' }
  | { kind: 'confirm'; number: number }
  | { kind: 'await'; organizations: readonly string[] }
