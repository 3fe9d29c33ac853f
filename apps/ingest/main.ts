import { parseConfig } from '#core/config'
import { stopGracefully } from '#http/graceful-stop'
import { LogInUseError } from '#telemetry-log/log'
import { configSchema } from './config.ts'
import { refuseWhen, startIngest } from './start.ts'

const { server, logger, checks, failed, beginStop, close } = await startIngest(
  parseConfig(configSchema, process.env),
).catch(endWithSentence)
const stopping = stopGracefully(server, close, beginStop)
checks.push(refuseWhen('ingest', () => stopping.stopping))
logger.info({ address: server.address() }, 'listening')

// A failed sync may have lost what the log says is there; only a new process that reads the disk again knows.
const reason = await failed
logger.fatal(
  { error: reason.name, code: 'code' in reason ? reason.code : undefined },
  'ending: the log or its writer failed',
)
setTimeout(() => process.exit(1), 250)

/** A log that another process uses is an operator's mistake, which needs no stack. */
function endWithSentence(error: unknown): never {
  if (!(error instanceof LogInUseError)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}
