import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorText } from '#core/error-text'
import { type Access, isOnCluster, startProductProcess } from '#test/product-process'
import { until } from '#test/until'

export type Product = {
  /** Without a slash at the end. */
  url: string
  demoKey: string
  adminKey: string
  organizationId: string
  /** Calls the API, with the demo key by default. Throws for responses other than 2xx. */
  call: <Answer>(method: string, path: string, body?: unknown, key?: string) => Promise<Answer>
  close: () => Promise<void>
}

/**
 * Starts the product like `npm start` with an empty data folder, or a cluster with ROUTERFLEET_TEST_CLUSTER=1. Resolves once
 * vehicles of the demo fleet move. `environment`: settings of the apps.
 */
export async function startProduct(environment: Record<string, string> = {}): Promise<Product> {
  const { access, folder, logs, stop } = await startProductProcess(isOnCluster ? ['--cluster'] : [], environment)
  const close = async () => void (await stop())
  try {
    const product = { ...connect(access), close }
    await until('the demo fleet moves', () => isMoving(product), 240_000)
    return product
  } catch (cause) {
    const errors = `${logs()}\n${await readFile(join(folder, 'questdb/server.log'), 'utf8')}`
      .split('\n')
      .filter((line) => /"level":"?(error|fatal|50|60)\b|Z [EC] /.test(line))
    await close()
    throw new Error(
      `The demo fleet did not start. The last errors of the apps and of QuestDB:\n${errors.slice(-10).join('\n')}`,
      {
        cause,
      },
    )
  }
}

/** A response of 503 asks for another try, as it does from any client. */
async function isMoving(product: Pick<Product, 'call'>): Promise<boolean> {
  try {
    return (await movingVehicles(product)).length > 4
  } catch (error) {
    if (errorText(error).includes('returned 503')) return false
    throw error
  }
}

/** Connects to a running product with the content of its `access.json`. */
export function connect({ baseUrl, demoKey, adminKey, demoOrganizationId }: Access): Omit<Product, 'close'> {
  const url = baseUrl.replace(/\/$/, '')
  return {
    url,
    demoKey,
    adminKey,
    organizationId: demoOrganizationId,
    async call(method, path, body, key = demoKey) {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const answer = await fetch(url + path, init)
      if (!answer.ok) throw new Error(`${method} ${path} returned ${answer.status}: ${await answer.text()}`)
      return answer.json() as Promise<never>
    },
  }
}

export type LocatedDevice = {
  deviceId: string
  name: string
  status: string
  location: { lat: number; lon: number; speedMps: number | null } | null
}

/** Returns the demo vehicles that are online and moving, sorted by name. They run jobs at once and have a trail. */
export async function movingVehicles({ call }: Pick<Product, 'call'>): Promise<LocatedDevice[]> {
  const { devices } = await call<{ devices: LocatedDevice[] }>('GET', '/fleet/gps?include=devices&tag=vehicle')
  return devices
    .filter(({ status, location }) => status === 'online' && (location?.speedMps ?? 0) > 3)
    .sort((a, b) => a.name.localeCompare(b.name))
}
