import { systemClock } from '#core/clock'
import { parseConfig } from '#core/config'
import { eraseDeletedDevices } from '#fleet/devices/erasure'
import { openPool } from '#postgres/pool'
import { eraseTelemetry } from '#questdb/erasure'
import { openQuestdbSql, questdbSqlUrl } from '#questdb/sql'
import { erasureSchema } from './config.ts'

// Command for operators: erases the telemetry of deleted devices now instead of next night.
const config = parseConfig(erasureSchema, process.env)
const pool = openPool(config.POSTGRES_URL, { applicationName: 'erase-now', maxConnections: 1 })
const questdb = openQuestdbSql(questdbSqlUrl(config), { applicationName: 'erase-now', maxConnections: 1 })
try {
  const count = await eraseDeletedDevices({
    pool,
    clock: systemClock,
    eraseTelemetry: (deviceIds) => eraseTelemetry(questdb, deviceIds),
  })
  process.stdout.write(`Erased the telemetry of ${count} deleted devices from storage.\n`)
} finally {
  await questdb.end()
  await pool.end()
}
