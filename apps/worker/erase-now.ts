import { systemClock } from '#core/clock'
import { parseConfig } from '#core/config'
import { eraseDeletedDevices } from '#fleet/devices/erasure'
import { openPool } from '#postgres/pool'
import { eraseTelemetry } from '#questdb/erasure'
import { openQuestdbSql, questdbSqlUrl } from '#questdb/sql'
import { erasureSchema } from './config.ts'

// An operator's command: erases deleted devices' telemetry now instead of next night.
const config = parseConfig(erasureSchema, process.env)
const pool = openPool(config.POSTGRES_URL, { applicationName: 'erase-now', maxConnections: 1 })
const questdb = openQuestdbSql(questdbSqlUrl(config), { applicationName: 'erase-now', maxConnections: 1 })
try {
  const count = await eraseDeletedDevices({
    pool,
    clock: systemClock,
    eraseTelemetry: (deviceIds) => eraseTelemetry(questdb, deviceIds),
  })
  process.stdout.write(`Looked at ${count} deleted devices; nothing of them is readable in storage any more.\n`)
} finally {
  await questdb.end()
  await pool.end()
}
