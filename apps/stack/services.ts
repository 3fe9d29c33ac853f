import { join } from 'node:path'
import type { App } from './apps.ts'
import type { DataFolder } from './data-folder.ts'
import { freePort } from './engines/process.ts'

export type Services = {
  ingest: App
  /** Only with Kafka. Otherwise ingest writes. */
  writer: App | undefined
  worker: App
  controlPlane: App
}

/**
 * The services and their addresses. Only the control plane listens on the configured address. The others use free
 * loopback ports that do not change until the product stops.
 */
export async function planServices(plan: {
  environment: Record<string, string | undefined>
  folder: DataFolder
  host: string
  port: number
  localUrl: string
  baseUrl: string
}): Promise<Services> {
  const ingestPort = await freePort()
  const writerPort = await freePort()
  const workerPort = await freePort()
  const internal = (port: number) => ({ ...plan.environment, HOST: '127.0.0.1', PORT: String(port) })
  const args = ['--data-dir', plan.folder.dir]
  const urlOf = (port: number) => `http://127.0.0.1:${port}`
  return {
    ingest: {
      name: 'ingest',
      script: 'apps/ingest/main.ts',
      args,
      environment: { ...internal(ingestPort), LOG_DIR: plan.folder.telemetryLog },
      liveUrl: `${urlOf(ingestPort)}/livez`,
    },
    writer: plan.environment.KAFKA_BROKERS
      ? {
          name: 'writer',
          script: 'apps/writer/main.ts',
          args,
          environment: { ...internal(writerPort), WRITER_DIR: join(plan.folder.dir, 'telemetry-writer') },
        }
      : undefined,
    worker: {
      name: 'worker',
      script: 'apps/worker/main.ts',
      args,
      environment: internal(workerPort),
      liveUrl: `${urlOf(workerPort)}/livez`,
    },
    controlPlane: {
      name: 'control-plane',
      script: 'apps/control-plane/main.ts',
      args,
      environment: {
        ...plan.environment,
        HOST: plan.host,
        PORT: String(plan.port),
        INGEST_URL: urlOf(ingestPort),
        WORKER_URL: urlOf(workerPort),
        PUBLIC_BASE_URL: plan.baseUrl,
      },
      liveUrl: `${plan.localUrl}/livez`,
    },
  }
}

/** The simulated routers of the demo organization. Secrets are passed in the environment: command lines are public. */
export const demoFleet = (plan: {
  environment: Record<string, string | undefined>
  folder: DataFolder
  localUrl: string
  enrollmentKey: string
  apiKey: string
  organizationId: string
}): App => ({
  name: 'demo-fleet',
  script: 'apps/router-agent/fleet.ts',
  args: ['--base-url', plan.localUrl, '--state-dir', plan.folder.demoFleet],
  environment: {
    ...plan.environment,
    ENROLLMENT_KEY: plan.enrollmentKey,
    API_KEY: plan.apiKey,
    ORGANIZATION_ID: plan.organizationId,
  },
})
