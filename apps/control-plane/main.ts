import { setFlagsFromString } from 'node:v8'
import { parseConfig } from '#core/config'
import { connectionLimit, countRefusedConnections } from '#http/connection-limit'
import { exitOnSignals, stopGracefully } from '#http/graceful-stop'
import { createOperationsServer } from '#http/operations-server'
import { createLogger } from '#http/request-log'
import { startServer } from '#http/server'
import { waitUntilAvailable } from '#postgres/availability'
import { migrate } from '#postgres/migrate'
import { configSchema } from './config.ts'
import { createApp } from './http/app.ts'
import { openPage } from './http/page.ts'
import { routes } from './routes.ts'
import { openServices } from './start.ts'

// By default the heap may grow to several times its live size before a full collection. Answers with large maps leave much
// garbage: with 30 % an attack on the map grows the process by 230 MiB instead of 440 and costs a tenth more CPU.
setFlagsFromString('--heap-growing-percent=30')
// Only the user of the service can read what it writes.
process.umask(0o077)
exitOnSignals()

const config = parseConfig(configSchema, process.env)
await waitUntilAvailable(config.POSTGRES_URL)
const logger = createLogger('control-plane', config.LOG_LEVEL)
await migrate(config.POSTGRES_URL, undefined, { onWait: (wait) => logger.warn({ wait }, 'migration_waits') })
const { services, close } = await openServices(config)
const app = createApp(routes, services)
const { current } = services.mapBackgrounds
const page = await openPage(config.FLEET_MAP_FOLDER, config.ROUTER_MODEL_SEGMENT, current)
const server = await startServer((request, ...rest) => page?.(request) ?? app.fetch(request, ...rest), {
  host: config.HOST,
  port: config.PORT,
  isShared: config.PORT_SHARED,
  // A request for the device edge uses a second file descriptor.
  maxConnections: connectionLimit(2),
})
countRefusedConnections(services.metrics.registry, server)
const stopping = stopGracefully(server, close, services.deviceEdge.endWaits)
services.readinessChecks.push({
  name: 'control-plane',
  check: async () => {
    if (stopping.stopping) throw new Error('stopping')
  },
})
if (config.HEALTH_PORT !== undefined) {
  const { registry } = services.metrics
  const health = { registry, checks: services.readinessChecks, isStopping: () => stopping.stopping }
  // After the server above, so that a copy that is live accepts connections.
  createOperationsServer(health).listen(config.HEALTH_PORT, '127.0.0.1')
}
services.logger.info({ address: server.address() }, 'listening')
