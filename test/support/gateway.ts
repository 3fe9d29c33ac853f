import type { AdapterService } from './adapter-service.ts'
import { type AppProcess, startAppProcess } from './app-process.ts'
import { until } from './until.ts'

export type TestGateway = AppProcess & {
  /** Returns the sum of a metric's series with these labels. */
  metric(name: string, labels?: readonly string[]): Promise<number>
  untilReady(): Promise<void>
}

/** Starts the gateway as a separate process for the organization of the service. */
export async function startTestGateway(
  service: Pick<AdapterService, 'url' | 'newGatewayKey'>,
  environment: Record<string, string>,
): Promise<TestGateway> {
  const process = await startAppProcess('apps/gateway/main.ts', {
    SERVICE_URL: service.url,
    GATEWAY_KEY: await service.newGatewayKey(),
    LOG_LEVEL: 'info',
    ...environment,
  })
  return {
    ...process,
    async metric(name, labels = []) {
      const lines = (await (await fetch(`${process.url}/metrics`)).text()).split('\n')
      const series = lines.filter(
        (line) => line.startsWith(`${name}{`) || (line.startsWith(`${name} `) && labels.length === 0),
      )
      return series
        .filter((line) => labels.every((label) => line.includes(label)))
        .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
    },
    untilReady: async () => {
      await until('the gateway is ready', async () => (await fetch(`${process.url}/readyz`)).ok)
    },
  }
}
