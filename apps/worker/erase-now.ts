import { systemClock } from '#core/clock'
import { parseConfig } from '#core/config'
import { eraseDeletedDevices } from '#fleet/devices/erasure'
import { openPool } from '#postgres/pool'
import { questdbSqlUrls } from '#questdb/server/servers'
import { openQuestdbSql } from '#questdb/server/sql'
import { eraseFromCopies } from '#questdb/writer/erasure'
import { erasureSchema } from './config.ts'

// Command for operators: erases the telemetry of deleted devices now instead of next night.
const config = parseConfig(erasureSchema, process.env)
const pool = openPool(config.POSTGRES_URL, { applicationName: 'erase-now', maxConnections: 1 })
const copies = questdbSqlUrls(config).map((url) =>
  openQuestdbSql(url, { applicationName: 'erase-now', maxConnections: 1 }),
)
try {
  const count = await eraseDeletedDevices({
    pool,
    clock: systemClock,
    eraseTelemetry: (deviceIds) => eraseFromCopies(copies, deviceIds),
  })
  process.stdout.write(`Erased the telemetry of ${count} deleted devices from storage.\n`)
} finally {
  await Promise.all(copies.map((copy) => copy.end()))
  await pool.end()
}
