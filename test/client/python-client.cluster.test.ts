import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { programOfCalls } from '#test/python-calls'
import { canInstallPythonClient, installPythonClient, type PythonEnvironment } from '#test/python-environment'
import { startWholeService, type WholeService } from '#test/whole-service'
import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'

let python: PythonEnvironment
let service: WholeService

beforeAll(async () => {
  if (!canInstallPythonClient) return
  ;[python, service] = await Promise.all([installPythonClient(), startWholeService()])
  const readme = await readFile(join(python.folder, 'README.md'), 'utf8')
  const program = [...readme.matchAll(/^```python\n(.*?)^```$/gms)].map(([, block]) => block).join('')
  await writeFile(join(python.folder, 'walkthrough.py'), program)
}, 300_000)
afterAll(async () => {
  await python?.remove()
  await service?.close()
})
beforeEach(({ skip }) => {
  if (!canInstallPythonClient) skip('needs python3 and the packages of the Python client (.ci/run downloads them)')
})

const passed = (stdout: unknown = expect.anything()) => ({ code: 0, stdout, stderr: '' })

async function call<Body>(path: string, body: object): Promise<Body> {
  const headers = { authorization: `Bearer ${service.adminKey}`, 'content-type': 'application/json' }
  const response = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
  return (await response.json()) as Body
}

test('the wheel has the licence and the version of the product, and needs httpx and typing-extensions', async () => {
  const program = `
import json
from importlib.metadata import metadata

about = metadata("routerfleet")
print(json.dumps([about["Version"], about["License-Expression"], about.get_all("Requires-Dist")]))`
  const { stdout } = await python.run('python', ['-c', program])
  const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8'))
  const needed = [expect.stringMatching(/^httpx\b/), expect.stringMatching(/^typing-extensions\b/)]
  expect(JSON.parse(stdout)).toEqual([version, 'Apache-2.0', needed])
})

test('the programs of the README run unchanged and configure the router', async () => {
  const { id: organizationId } = await call<{ id: string }>('/orgs', { name: 'Buses', plan: 'pro' })
  const device = { organizationId, serial: 'SN-0042', name: 'Bus 42', model: 'RX-500', tags: ['bus'] }
  const { id } = await call<{ id: string }>('/devices', device)
  const { token } = await call<{ token: string }>(`/devices/${id}/token`, {})
  const { code, stdout, stderr } = await python.run('python', ['walkthrough.py'], {
    ROUTERFLEET_URL: service.url,
    ROUTERFLEET_KEY: service.adminKey,
    ROUTERFLEET_DEVICE_TOKEN: token,
  })
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^SN-0042 (provisioning|online)$/m)
  expect(stdout).toMatch(/^404 not_found No such device/m)
  expect(stdout).toMatch(/^1 None$/m)
  expect(stdout).toMatch(/^\{.*"serial": ?"SN-0042"/m)
  expect(stdout).toMatch(/^Dropped: 0$/m)
  expect(stdout).toMatch(/^1 devices$/m)
  expect(stdout).toContain('The batch is finished: 1 succeeded.')
  expect(await readFile(join(python.folder, 'devices.csv'), 'utf8')).toContain('SN-0042')
}, 120_000)

test('its own tests pass, and types and style are right, also in the README', async () => {
  await python.install('-r', join(python.folder, 'tests/requirements.txt'))
  expect(await python.run('python', ['-m', 'pytest', '-q', '-p', 'no:cacheprovider'])).toEqual(
    passed(expect.stringMatching(/\d+ passed/)),
  )
  const checked = ['-p', 'routerfleet', '-p', 'tests', '-m', 'walkthrough']
  expect(await python.run('mypy', ['--strict', ...checked])).toEqual(passed())
  const sources = join(import.meta.dirname, '../../clients/python')
  expect(await python.run('ruff', ['check', '--no-cache', sources])).toEqual(passed())
  expect(await python.run('ruff', ['format', '--no-cache', '--check', sources])).toEqual(passed())
}, 300_000)

const document = createOpenApi(routes, 'https://fleet.example.com')

test('every operation accepts its example, with a type and on the service', async () => {
  await python.install('-r', join(python.folder, 'tests/requirements.txt'))
  await writeFile(join(python.folder, 'calls.py'), programOfCalls(document))
  const environment = { ROUTERFLEET_URL: service.url, ROUTERFLEET_KEY: service.adminKey }
  const [types, { stdout, stderr }] = await Promise.all([
    python.run('mypy', ['--strict', 'calls.py']),
    python.run('python', ['calls.py'], environment),
  ])
  expect(types).toEqual(passed())
  expect(stderr).toBe('')
  const statuses: [string, number][] = JSON.parse(stdout)
  expect(statuses.length).toBeGreaterThan(300)
  expect(statuses.filter(([, status]) => status === 400 || status === 415 || status >= 500)).toEqual([])
}, 300_000)

const wrong = `
from routerfleet import Routerfleet

fleet = Routerfleet("https://fleet.example.com", "flk_1")
fleet.list_devices(tags=["bus"])
fleet.list_devices(status="on")
fleet.create_device({"organizationId": "1", "serial": "A", "name": "Bus", "modell": "RX-500"})
fleet.get_device("1")["seriel"]
fleet.get_device("1", if_none_match="2")["serial"]
fleet.create_group_jobs("1", "2", {"kind": "reboot"}, dry_run=True)["counts"]
fleet.get_fleet_gps(format="geojson")["devices"]
`

test('mypy finds a wrong parameter, value, member of a body and member of an answer', async () => {
  await python.install('-r', join(python.folder, 'tests/requirements.txt'))
  await writeFile(join(python.folder, 'wrong.py'), wrong)
  const { stdout } = await python.run('mypy', ['--strict', '--hide-error-context', 'wrong.py'])
  const found = [...stdout.matchAll(/^wrong\.py:(\d+): error: .*\[([\w-]+)\]$/gm)].map(([, line, code]) => [line, code])
  expect(found).toEqual([
    ['5', 'call-arg'],
    ['6', 'arg-type'],
    ['7', 'typeddict-item'],
    ['7', 'typeddict-unknown-key'],
    ['8', 'typeddict-item'],
    ['9', 'index'],
    ['10', 'typeddict-item'],
    ['11', 'typeddict-item'],
  ])
}, 300_000)
