import { parentPort, workerData } from 'node:worker_threads'
import { toError } from '#core/error-text'
import { createFairRounds } from '#core/fair-rounds'
import { compareDueRadios } from '#fleet-map/radio-health/run'
import { isStoreUnavailable } from '#postgres/errors'
import { openPool } from '#postgres/pool'
import { openQuestdbSql } from '#questdb/server/sql'
import type { ComparisonSettings, FromComparisons, ToldError } from './comparisons.ts'

const { postgresUrl, questdbUrls, plans, clockAheadMs } = workerData as ComparisonSettings

const tell = (message: FromComparisons) => parentPort?.postMessage(message)

function told(thrown: unknown): ToldError {
  const error = toError(thrown)
  const { name, message, stack } = error
  return { name, message, stack, code: 'code' in error ? error.code : undefined }
}

// A transaction and the renewal of a claim at the same time.
const pool = openPool(postgresUrl, { applicationName: 'worker', maxConnections: 2 })
const copies = questdbUrls.map((url) => openQuestdbSql(url, { applicationName: 'worker', maxConnections: 1 }))
const rounds = createFairRounds({
  onError: (error, organizationId) => tell({ kind: 'turnFailed', organizationId, error: told(error) }),
  isUnavailable: isStoreUnavailable,
})
try {
  const radios = await compareDueRadios({ pool, plans, clock: () => Date.now() + clockAheadMs }, copies, rounds)
  tell({ kind: 'compared', radios })
} catch (error) {
  tell({ kind: 'failed', error: told(error) })
} finally {
  await Promise.all([pool.end(), ...copies.map((copy) => copy.end())])
}
