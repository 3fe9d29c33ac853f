import { hostname } from 'node:os'
import { join } from 'node:path'
import type { App } from './apps.ts'
import type { DataFolder } from './data-folder.ts'
import { freePort } from './engines/process.ts'

/** All copies of each app. */
export type StackServices = {
  ingest: App[]
  /** Only with Kafka. Otherwise ingest writes. */
  writer: App[]
  worker: App[]
  controlPlane: App[]
  /** Only with a key, and a broker or a port for receivers. */
  gateway: App[]
  /** The address of ingest, if there is one process of it. */
  ingestUrl: string | undefined
}

type Plan = {
  environment: Record<string, string | undefined>
  folder: DataFolder
  host: string
  port: number
  localUrl: string
  baseUrl: string
  /** How many processes of each app to start. */
  copies: number
  /** The names of the copies of QuestDB, each of which has its own writers; empty for a single server. */
  questdbCopies: readonly string[]
}

/** A process that listens on a loopback port, which does not change until the product stops. */
type Internal = { name: string; baseUrl: string; port: string }

/**
 * The services and their addresses. Only the control planes listen on the configured address: several of them share its
 * port, and each has a port of its own for its health.
 */
export async function planServices(plan: Plan): Promise<StackServices> {
  const [ingest, worker, controlPlane] = [
    await planCopies('ingest', plan.copies),
    await planCopies('worker', plan.copies),
    await planCopies('control-plane', plan.copies),
  ]
  const { GATEWAY_KEY, MQTT_URL, NMEA_PORT } = plan.environment
  const gateways = GATEWAY_KEY && (MQTT_URL || NMEA_PORT) ? await planCopies('gateway', 1) : []
  const writers = plan.environment.KAFKA_BROKERS ? await planWriters(plan) : []
  return {
    ingestUrl: plan.copies === 1 ? urlsOf(ingest) : undefined,
    ingest: ingest.map((copy) => internalApp('ingest', copy, plan, { LOG_DIR: plan.folder.telemetryLog })),
    writer: writers.map(({ added, ...copy }) => internalApp('writer', copy, plan, added)),
    worker: worker.map((copy) => internalApp('worker', copy, plan, {})),
    gateway: gateways.map((copy) => internalApp('gateway', copy, plan, { SERVICE_URL: plan.localUrl })),
    controlPlane: controlPlane.map((copy) => ({
      name: copy.name,
      script: 'apps/control-plane/main.ts',
      args: ['--data-dir', plan.folder.dir],
      environment: {
        ...plan.environment,
        HOST: plan.host,
        PORT: String(plan.port),
        INGEST_URL: urlsOf(ingest),
        WORKER_URL: urlsOf(worker),
        WRITER_URL: urlsOf(writers),
        PUBLIC_BASE_URL: plan.baseUrl,
        ...(plan.copies > 1 && {
          PORT_SHARED: 'true',
          HEALTH_PORT: copy.port,
          CONTROL_PLANE_URL: urlsOf(controlPlane),
        }),
      },
      liveUrl: `${plan.copies > 1 ? copy.baseUrl : plan.localUrl}/livez`,
    })),
  }
}

/** Writers of one copy of QuestDB are replicas of each other. */
async function planWriters({ copies, questdbCopies, folder }: Plan) {
  if (questdbCopies.length === 0) {
    const added = { WRITER_DIR: folder.telemetryWriter }
    return (await planCopies('writer', copies)).map((writer) => withMemberName(writer, added))
  }
  const planned = questdbCopies.map(async (copy) => {
    const added = { WRITER_DIR: join(folder.telemetryWriter, copy), QUESTDB_COPY: copy }
    return (await planCopies(writerOf(copy), copies)).map((writer) => withMemberName(writer, added))
  })
  return (await Promise.all(planned)).flat()
}

/** Adds a name that stays the same when the process is started again, and that differs from those of other machines. */
const withMemberName = (writer: Internal, added: Record<string, string>) => ({
  ...writer,
  added: { ...added, KAFKA_MEMBER_NAME: `${hostname()}-${writer.port}` },
})

/** The name of the app that writes to a copy of QuestDB. */
export const writerOf = (copy: string): string => `writer-${copy}`

/** Numbers the copies if there are several. */
async function planCopies(app: string, copies: number): Promise<Internal[]> {
  const planned: Internal[] = []
  for (const name of copyNames(app, copies)) {
    const port = await freePort()
    planned.push({ name, baseUrl: `http://127.0.0.1:${port}`, port: String(port) })
  }
  return planned
}

/** The names of the copies of an app: its own name, or `ingest-1`, `ingest-2` if there are several. */
export const copyNames = (app: string, copies: number): string[] =>
  copies === 1 ? [app] : Array.from({ length: copies }, (_, index) => `${app}-${index + 1}`)

const urlsOf = (copies: readonly Internal[]) => copies.map(({ baseUrl }) => baseUrl).join(',')

const internalApp = (
  app: string,
  { name, baseUrl, port }: Internal,
  { environment, folder }: Plan,
  added: Record<string, string>,
): App => ({
  name,
  script: `apps/${app}/main.ts`,
  args: ['--data-dir', folder.dir],
  environment: { ...environment, HOST: '127.0.0.1', PORT: port, ...added },
  liveUrl: `${baseUrl}/livez`,
})

/** The simulated routers of the demo organization. Secrets are passed in the environment: command lines are public. */
export const demoFleet = (plan: {
  environment: Record<string, string | undefined>
  folder: DataFolder
  localUrl: string
  ingestUrl: string | undefined
  enrollmentKey: string
  apiKey: string
  organizationId: string
}): App => ({
  name: 'demo-fleet',
  script: 'apps/router-agent/fleet.ts',
  args: ['--base-url', plan.localUrl, '--state-dir', plan.folder.demoFleet],
  environment: {
    ...plan.environment,
    // Forwarding the reports of the demo would use more CPU time than everything else that the control plane does then.
    LOCAL_EDGE_URL: plan.ingestUrl,
    ENROLLMENT_KEY: plan.enrollmentKey,
    API_KEY: plan.apiKey,
    ORGANIZATION_ID: plan.organizationId,
  },
})
