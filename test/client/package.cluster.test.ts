import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type InstalledClient, installClient, leftOverFile } from '#test/installed-client'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'
import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { codeSamples, type SampleOperation } from '../../apps/fleet-map/src/api/code-samples.ts'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '../..')
let client: InstalledClient
let service: WholeService

beforeAll(async () => {
  ;[client, service] = await Promise.all([installClient(), startWholeService()])
}, 180_000)
afterAll(async () => {
  await client.remove()
  await service.close()
})

/** Checks the types of these files in the project that installed the package, including the types of the package. */
async function typeCheck(files: readonly string[]): Promise<string> {
  const options = {
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
    typeRoots: [join(repository, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
  }
  await writeFile(join(client.folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }))
  const tsc = join(repository, 'node_modules/typescript/bin/tsc')
  return run(join(repository, 'node_modules/.bin/node'), [tsc, '--project', client.folder], {
    cwd: client.folder,
  }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

/** The program of a page, without the comments between its parts. */
async function programOf(page: string): Promise<string> {
  const text = await readFile(join(repository, page), 'utf8')
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block).join('')
}

test('the packed client installs into an empty project, where its documentation type-checks and runs', async () => {
  const program = (await programOf('docs/typescript-client.md')).replaceAll('http://127.0.0.1:8080', service.url)
  await writeFile(join(client.folder, 'guide.ts'), program)
  expect(await typeCheck(['guide.ts'])).toBe('')

  const call = async (path: string, body: object) => {
    const headers = { authorization: `Bearer ${service.adminKey}`, 'content-type': 'application/json' }
    const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await response.json()) as { id: string; token: string }
  }
  const { id: organizationId } = await call('/orgs', { name: 'Buses', plan: 'pro' })
  const device = { organizationId, serial: 'SN-0042', name: 'Bus 42', model: 'RX-500', tags: ['bus'] }
  const { id } = await call('/devices', device)
  const { token } = await call(`/devices/${id}/token`, {})
  const env = { ...client.environment, ROUTERFLEET_KEY: service.adminKey, ROUTERFLEET_DEVICE_TOKEN: token }
  const { stdout } = await run(join(repository, 'node_modules/.bin/node'), ['guide.ts'], { cwd: client.folder, env })
  expect(stdout).toMatch(/^SN-0042 (provisioning|online)$/m)
  expect(stdout).toMatch(/^404 not_found No such device/m)
  expect(stdout).toContain('The batch is finished: 1 succeeded.')
  const ferry = await until('the ferry is on the map', async () => {
    const headers = { authorization: `Bearer ${service.adminKey}` }
    const answer = await fetch(`${service.url}/fleet/gps?tag=ferry`, { headers })
    const { devices } = (await answer.json()) as { devices: { location: object | null }[] }
    return devices.find(({ location }) => location !== null)
  })
  expect(ferry).toMatchObject({ location: { lat: 51.8413, lon: -8.2916 }, signal: { rsrpDbm: -97 } })
}, 120_000)

test('the package has no files of an earlier build', () => {
  const installed = join(client.folder, 'node_modules/@routerfleet/client')
  expect(existsSync(join(installed, 'dist/index.js'))).toBe(true)
  expect(existsSync(join(installed, leftOverFile))).toBe(false)
})

const document = createOpenApi(routes, 'https://fleet.example.com')
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method} ${path}`,
    samples: codeSamples({
      path,
      method,
      operation: operation as unknown as SampleOperation,
      baseUrl: 'https://fleet.example.com',
    }),
  })),
)

test('the TypeScript samples of the API reference type-check with the packed client', async () => {
  const files = operations.map((_, index) => `sample-${index}.ts`)
  await Promise.all(
    operations.map(({ name, samples }, index) =>
      writeFile(join(client.folder, `sample-${index}.ts`), `// ${name}\n${samples.TypeScript}\nexport {}\n`),
    ),
  )
  expect(await typeCheck(files)).toBe('')
}, 120_000)

test('the curl samples of the API reference are valid in bash', async () => {
  const script = operations.map(({ samples }) => samples.curl).join('\n')
  await run('bash', ['-n', '-c', script])
})

test('the Python samples of the API reference compile', async ({ skip }) => {
  const check = 'import json, sys; [compile(text, name, "exec") for name, text in json.load(open(sys.argv[1]))]'
  const file = join(client.folder, 'samples.json')
  await writeFile(file, JSON.stringify(operations.map(({ name, samples }) => [name, samples.Python])))
  const outcome = await run('python3', ['-c', check, file]).catch((error: NodeJS.ErrnoException) => error)
  if ('code' in outcome && outcome.code === 'ENOENT') return skip('python3 is not installed')
  expect(outcome).toMatchObject({ stderr: '' })
})
