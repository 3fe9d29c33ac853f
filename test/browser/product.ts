import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '#test/until'

const repository = join(import.meta.dirname, '../..')

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

/** Starts the product like `npm start` with an empty data folder. Resolves once vehicles of the demo fleet move. */
export async function startProduct(): Promise<Product> {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-browser-'))
  const args = ['apps/stack/bootstrap.mjs', '--port', '0', '--data-dir', folder]
  const child = spawn('node', args, { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const gone = once(child, 'exit')
  const close = async () => {
    child.kill('SIGTERM')
    await gone
    await rm(folder, { recursive: true, force: true })
  }
  const isReady = async () => {
    if (child.exitCode !== null) throw new Error(`The product exited with code ${child.exitCode}: ${output}`)
    return output.includes('Ready: ')
  }
  try {
    await until('the product is ready', isReady, 90_000)
    const access = JSON.parse(await readFile(join(folder, 'access.json'), 'utf8'))
    const product = { ...connect(access), close }
    const isMoving = async () => (await movingVehicles(product)).length > 4
    await until('the demo fleet moves', isMoving, 60_000)
    return product
  } catch (error) {
    await close()
    throw error
  }
}

type Access = { baseUrl: string; demoKey: string; adminKey: string; demoOrganizationId: string }

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
