import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startWholeService, type WholeService } from '#test/whole-service'

const run = promisify(execFile)
let service: WholeService
let folder: string

beforeAll(async () => {
  service = await startWholeService()
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-walkthrough-'))
  await mkdir(join(folder, '.data'))
  const access = { baseUrl: service.url, adminKey: service.adminKey }
  await writeFile(join(folder, '.data/access.json'), JSON.stringify(access))
}, 120_000)
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

const shell = (script: string) => run('bash', ['--norc', '-euo', 'pipefail', '-c', script], { cwd: folder })

test('the first steps of the README run unchanged', async () => {
  const readme = await readFile(join(import.meta.dirname, '../../README.md'), 'utf8')
  const [, script = ''] = /^## First steps$.*?^```sh\n(.*?)^```$/ms.exec(readme) ?? []
  const { stdout } = await shell(script)
  expect(stdout).toContain('"serial":"SN-1"')
  expect(stdout).toContain('"effectiveDeviceCount":1')
  expect(stdout).toContain('"ssid":"Ferry"')
  expect(stdout).not.toContain('correct horse')
})

test('the walkthrough runs unchanged and configures the router', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/walkthrough.md'), 'utf8')
  const script = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('')
  const { stdout } = await shell(`${script}\necho; echo "$job"`)
  const [job = '', ...earlier] = stdout.trimEnd().split('\n').reverse()
  const told = earlier.join('\n')
  expect(told).toContain('"accepted":2')
  expect(told).toContain('"rsrpDbm":-97')
  expect(told).toContain('"membership":"smartTag"')
  expect(told).toContain('"succeeded":1')
  expect(told).not.toContain('correct horse')
  expect(JSON.parse(job).parameters).toBeDefined()
  expect(job).toContain('correct horse')
})
