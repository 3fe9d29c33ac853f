import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'
import { startWholeService } from './whole-service.ts'

const payloadFolder = join(import.meta.dirname, '../../../shared/data/payloads')

/** The reason why the recorded payloads are not available; null if they are. */
export const payloadsMissing: string | null = existsSync(payloadFolder)
  ? null
  : 'The recorded payloads are not beside the repository (../shared/data/payloads).'

/** Returns a recorded payload. */
export const readPayload = (file: string): string => readFileSync(join(payloadFolder, file), 'utf8')

export type AdapterRouter = { id: string; token: string; serial: string }

/** Fields by name of one kind of telemetry. */
export type Latest = Record<'cellular' | 'connection' | 'location' | 'system', Record<string, unknown> | null>

/** Starts the whole service for tests of adapters. */
export async function startAdapterService() {
  const service = await startWholeService()
  /** Calls the API as an administrator. Throws for responses other than 2xx. */
  const admin = async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${service.adminKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} returned ${answer.status}: ${text}`)
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests assert.
    return (text === '' ? undefined : JSON.parse(text)) as any
  }
  /** Returns the lines of a metric with these labels. */
  async function seriesOf(name: string, labels: readonly string[]): Promise<string[]> {
    const answer = await fetch(`${service.url}/metrics`, { headers: { authorization: `Bearer ${service.adminKey}` } })
    const lines = (await answer.text()).split('\n')
    return lines.filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
  }
  const organization = await admin('POST', '/orgs', { name: 'Buses', plan: 'enterprise' })
  let serial = 0

  return {
    ...service,
    organizationId: organization.id as string,
    /** Registers a router. Its token is '' if it has none, as a gateway needs it for jobs. */
    async newRouter({ hasToken = true } = {}): Promise<AdapterRouter> {
      serial += 1
      const device = { organizationId: organization.id, serial: `SN-${serial}`, name: 'Router', model: 'R1' }
      const { id } = await admin('POST', '/devices', device)
      const token = hasToken ? (await admin('POST', `/devices/${id}/token`, {})).token : ''
      return { id, serial: device.serial, token }
    },
    /** Creates a key with which a gateway reports for the routers. */
    async newGatewayKey(): Promise<string> {
      const path = `/orgs/${organization.id}/enrollment-keys`
      return (await admin('POST', path, { name: 'Gateway', autoCreate: false, allowGateway: true })).key
    },
    admin,
    /** Sends a request and returns its status, headers and body, also as text. */
    async send(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
      const answer = await fetch(service.url + path, {
        method: 'POST',
        headers,
        body: typeof body === 'string' ? body : new Uint8Array(body),
      })
      const bytes = Buffer.from(await answer.arrayBuffer())
      const text = bytes.toString()
      const isJson = answer.headers.get('content-type')?.includes('json')
      return {
        status: answer.status,
        headers: answer.headers,
        bytes,
        text,
        json: isJson ? JSON.parse(text) : undefined,
      }
    },
    /** Returns the newest telemetry of a router as soon as it has these kinds. */
    latest: (router: Pick<AdapterRouter, 'id'>, ...kinds: (keyof Latest)[]): Promise<Latest> =>
      until(`${kinds.join(' and ')} can be read`, async () => {
        const latest = await admin('GET', `/api/router/${router.id}/telemetry/latest`)
        return kinds.every((kind) => latest[kind] !== null) && (latest as Latest)
      }),
    seriesOf,
    /** Returns the value of a metric, 0 if there is none. `labels` as in the exposition, such as `source="influx"`. */
    async metric(name: string, labels: readonly string[]): Promise<number> {
      const [line] = await seriesOf(name, labels)
      return Number(line?.split(' ').at(-1) ?? 0)
    },
  }
}

export type AdapterService = Awaited<ReturnType<typeof startAdapterService>>
