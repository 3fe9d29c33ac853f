import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startServer } from '#http/server'
import { startControlPlane } from '#test/control-plane'
import { createApp } from '../../apps/control-plane/app.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { createWorld, type World } from '../security/world.ts'

const present = spawnSync('schemathesis', ['--version']).status === 0
const limitSeconds = 60

// No server errors, and nothing the contract does not say: statuses, media types, bodies.
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
]
// These need the device edge, which is another app with tests of its own, never end, or take a media type it cannot write.
const elsewhere = '^/(telemetry|device/.*|readyz|fleet/gps/stream|devices/import)$'

test(
  'generated requests, valid and not, meet no 5xx and nothing undocumented',
  async ({ skip }) => {
    skip(!present, 'schemathesis is not on the PATH')
    const api = await startControlPlane()
    const server = await startServer(createApp(routes, api.services).fetch, { host: '127.0.0.1', port: 0 })
    const folder = await mkdtemp(join(tmpdir(), 'routerfleet-schemathesis-'))
    try {
      const world = await createWorld(api)
      const { port } = server.address() as AddressInfo
      await writeFile(join(folder, 'schemathesis.toml'), configOf(world))
      const outcome = await run(folder, [
        `--config-file=${join(folder, 'schemathesis.toml')}`,
        'run',
        `http://127.0.0.1:${port}/openapi.json`,
        `--header=Authorization: Bearer ${world.key}`,
        `--checks=${checks.join(',')}`,
        `--exclude-path-regex=${elsewhere}`,
        '--phases=examples,coverage,fuzzing',
        '--max-examples=10',
        `--max-time=${limitSeconds}`,
        '--suppress-health-check=all',
        '--warnings=off',
        '--no-color',
        '--seed=1',
      ])
      expect(outcome.code, outcome.output.slice(-6_000)).toBe(0)
    } finally {
      server.close()
      server.closeAllConnections()
      await api.close()
      await rm(folder, { recursive: true })
    }
  },
  (limitSeconds + 240) * 1_000,
)

/** Ids that exist, so that generated requests get past 404. */
const configOf = (world: World): string =>
  `[parameters]\n"path.orgId" = "${world.orgId}"\n"path.deviceId" = "${world.deviceId}"\n"path.modelSegment" = "router"\n`

function run(folder: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn('schemathesis', args, { cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
