import { parseConfig } from '#core/config'
import { stopGracefully } from '#http/graceful-stop'
import { startServer } from '#http/server'
import { migrate } from '#postgres/migrate'
import { createApp } from './app.ts'
import { configSchema } from './config.ts'
import { routes } from './routes.ts'
import { openServices } from './start.ts'

const config = parseConfig(configSchema, process.env)
await migrate(config.POSTGRES_URL)
const { services, close } = await openServices(config)
const app = createApp(routes, services)
const server = await startServer(app.fetch, { host: config.HOST, port: config.PORT })
const stopping = stopGracefully(server, close)
services.readinessChecks.push({
  name: 'control-plane',
  check: async () => {
    if (stopping.stopping) throw new Error('stopping')
  },
})
services.logger.info({ address: server.address() }, 'listening')
