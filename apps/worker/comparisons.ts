import { once } from 'node:events'
import { getHeapStatistics } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Plans } from '#fleet/organizations/plans'
import { isComparisonDue, type RadioHealthSystem } from '#fleet-map/radio-health/run'
import type { QuestdbRows } from '#questdb/server/sql'

/** What the thread of comparisons needs. `clockAheadMs`: how far the clock of the database is ahead of that of this machine. */
export type ComparisonSettings = { postgresUrl: string; questdbUrls: string[]; plans: Plans; clockAheadMs: number }

/** An error without its prototype: of the errors of databases, a message between threads keeps neither name nor code. */
export type ToldError = { name: string; message: string; stack: string | undefined; code: unknown }

/** What the thread tells: each organization whose turn failed, and then what it compared or why it could not. */
export type FromComparisons =
  | { kind: 'turnFailed'; organizationId: string; error: ToldError }
  | { kind: 'compared'; radios: number }
  | { kind: 'failed'; error: ToldError }

type Parts = {
  system: RadioHealthSystem
  copies: readonly QuestdbRows[]
  /** The addresses with which the thread opens connections of its own. */
  addresses: Pick<ComparisonSettings, 'postgresUrl' | 'questdbUrls'>
  /** Receives the errors of single organizations. */
  onTurnFailed: (error: unknown, organizationId: string) => void
  /** Ends the thread at once. What it was comparing stays claimed until the claim lapses. */
  signal: AbortSignal
}

const mebibyte = 1024 ** 2

/**
 * Compares the radios of the organizations that are due in a thread, which ends afterwards: with a million devices, it computes for seconds
 * at a time and needs gigabytes, while the worker must dispatch jobs. Returns the number of compared radios, 0 if `signal` ended it.
 */
export async function compareInThread({ system, copies, addresses, onTurnFailed, signal }: Parts): Promise<number> {
  if (!(await isComparisonDue(system, copies)) || signal.aborted) return 0
  const settings: ComparisonSettings = {
    ...addresses,
    plans: system.plans,
    clockAheadMs: system.clock() - Date.now(),
  }
  const thread = new Worker(new URL('./comparison-thread.ts', import.meta.url), {
    name: 'comparisons',
    workerData: settings,
    // By default, a thread of a large machine may use less than its process.
    resourceLimits: { maxOldGenerationSizeMb: Math.floor(getHeapStatistics().heap_size_limit / mebibyte) },
  })
  let end: FromComparisons | undefined
  thread.on('message', (message: FromComparisons) => {
    if (message.kind === 'turnFailed') onTurnFailed(errorOf(message.error), message.organizationId)
    else end = message
  })
  const terminate = () => void thread.terminate()
  signal.addEventListener('abort', terminate, { once: true })
  // Rejects with the error of a thread that ends by one, for example because it has no more memory.
  await once(thread, 'exit').finally(() => signal.removeEventListener('abort', terminate))
  if (end?.kind === 'compared') return end.radios
  if (signal.aborted) return 0
  throw end?.kind === 'failed' ? errorOf(end.error) : new Error('The thread of comparisons ended.')
}

const errorOf = ({ message, ...rest }: ToldError): Error => Object.assign(new Error(message), rest)
