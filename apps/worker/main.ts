import { constants, setPriority } from 'node:os'
import { parseConfig } from '#core/config'
import { exitOnSignals, type Stopping, stopGracefully } from '#http/graceful-stop'
import { createLogger } from '#http/request-log'
import { configSchema } from './config.ts'
import { startWorker } from './start.ts'

// Callers wait for the responses of the other processes, so these get the cores first while a large batch is dispatched.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
// Only the user of the service can read what it writes.
process.umask(0o077)
exitOnSignals()

const config = parseConfig(configSchema, process.env)
const logger = createLogger('worker', config.LOG_LEVEL)

let stopping: Stopping | undefined
const worker = await startWorker(config, logger, () => stopping?.stopping ?? false)
stopping = stopGracefully(worker.server, worker.stop)
worker.server.listen(config.PORT, config.HOST, () => {
  logger.info({ port: config.PORT, queues: config.REDIS_URL === undefined ? 'postgres' : 'redis' }, 'worker_listening')
})
