import { parseConfig } from '#core/config'
import { exitOnSignals, stopGracefully } from '#http/graceful-stop'
import { LogInUseError, LogLayoutError } from '#telemetry-log/log'
import { configSchema } from './config.ts'
import { refuseWhen, startIngest } from './start.ts'

// Only the user of the service can read what it writes.
process.umask(0o077)
exitOnSignals()
const { server, logger, checks, failed, beginStop, close } = await startIngest(
  parseConfig(configSchema, process.env),
).catch(exitWithMessage)
const stopping = stopGracefully(server, close, beginStop)
checks.push(refuseWhen('ingest', () => stopping.stopping))
logger.info({ address: server.address() }, 'listening')

// After a failed sync, the disk may not have what the log contains. A new process must read the disk again.
const reason = await failed
logger.fatal({ error: reason.name, code: 'code' in reason ? reason.code : undefined }, 'log_or_writer_failed')
setTimeout(() => process.exit(1), 250)

/** Prints only the message if the log cannot be opened with this configuration. */
function exitWithMessage(error: unknown): never {
  if (!(error instanceof LogInUseError || error instanceof LogLayoutError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
