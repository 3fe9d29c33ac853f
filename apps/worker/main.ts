import { parseConfig } from '#core/config'
import { stopGracefully } from '#http/graceful-stop'
import { createHttpMetrics } from '#http/metrics'
import { createLogger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import { configSchema } from './config.ts'
import { createOperationsServer } from './server.ts'

const config = parseConfig(configSchema, process.env)
const logger = createLogger('worker', config.LOG_LEVEL)
const pool = openPool(config.POSTGRES_URL, { applicationName: 'worker', maxConnections: 10 })
const { registry } = createHttpMetrics('worker')

const server = createOperationsServer({
  registry,
  isStopping: () => stopping.stopping,
  checks: [{ name: 'postgres', check: async () => void (await pool.query('SELECT 1')) }],
})
const stopping = stopGracefully(server, async () => {
  await pool.end()
})
server.listen(config.PORT, config.HOST, () => logger.info({ port: config.PORT }, 'worker listening'))
