import { parseConfig } from '#core/config'
import { exitOnSignals, type Stopping, stopGracefully } from '#http/graceful-stop'
import { createLogger } from '#http/request-log'
import { configSchema, writtenCopy } from './config.ts'
import { startWriter } from './start.ts'

// Only the user of the service can read what it writes.
process.umask(0o077)
exitOnSignals()
const config = parseConfig(configSchema, process.env)
const copy = writtenCopy(config)
const logger = createLogger('writer', config.LOG_LEVEL)

let stopping: Stopping | undefined
const writer = await startWriter(config, copy, logger, () => stopping?.stopping ?? false)
stopping = stopGracefully(writer.server, writer.stop)
writer.server.listen(config.PORT, config.HOST, () => {
  logger.info({ port: config.PORT, group: copy.groupId, topic: config.KAFKA_TOPIC }, 'writer_listening')
})

// A partition that fails for a reason that does not pass needs a new start of all that is in memory.
const reason = await writer.failed
logger.fatal({ err: reason }, 'writer_failed')
setTimeout(() => process.exit(1), 250)
