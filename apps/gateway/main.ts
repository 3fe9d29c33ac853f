import { parseConfig } from '#core/config'
import { exitOnSignals, type Stopping, stopGracefully } from '#http/graceful-stop'
import { createLogger } from '#http/request-log'
import { configSchema } from './config.ts'
import { startGateway } from './start.ts'

// Only the user of the service can read what it writes.
process.umask(0o077)
exitOnSignals()
const config = parseConfig(configSchema, process.env)
const logger = createLogger('gateway', config.LOG_LEVEL)

let stopping: Stopping | undefined
const gateway = await startGateway(config, logger, () => stopping?.stopping ?? false)
stopping = stopGracefully(gateway.server, gateway.stop)
gateway.server.listen(config.PORT, config.HOST, () => logger.info({ port: config.PORT }, 'gateway_listening'))
