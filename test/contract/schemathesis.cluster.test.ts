import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startServer } from '#http/server'
import { startControlPlane } from '#test/control-plane'
import { contractChecks, findSchemathesis, startSchemathesis } from '#test/schemathesis'
import { createApp } from '../../apps/control-plane/http/app.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { createWorld, type World } from '../security/world.ts'

const command = findSchemathesis()
const limitSeconds = 60

// These need the device edge, which is another app with tests of its own, never end, or take a media type it cannot write.
const elsewhere = '^/(telemetry|adapters/.*|device/.*|readyz|fleet/gps/stream|devices/import)$'

test(
  'generated requests, valid and not, meet no 5xx and nothing undocumented',
  async ({ skip }) => {
    if (command === undefined) return skip('schemathesis is not installed')
    const api = await startControlPlane()
    const server = await startServer(createApp(routes, api.services).fetch, { host: '127.0.0.1', port: 0 })
    const folder = await mkdtemp(join(tmpdir(), 'routerfleet-schemathesis-'))
    try {
      const world = await createWorld(api)
      const { port } = server.address() as AddressInfo
      await writeFile(join(folder, 'schemathesis.toml'), configOf(world))
      const args = [
        `--config-file=${join(folder, 'schemathesis.toml')}`,
        'run',
        `http://127.0.0.1:${port}/openapi.json`,
        // The document names the public address of the service.
        `--url=http://127.0.0.1:${port}`,
        `--header=Authorization: Bearer ${world.key}`,
        `--checks=${contractChecks.join(',')}`,
        `--exclude-path-regex=${elsewhere}`,
        '--phases=examples,coverage,fuzzing',
        '--max-examples=10',
        `--max-time=${limitSeconds}`,
        '--suppress-health-check=all',
        '--warnings=off',
        '--no-color',
        '--seed=1',
      ]
      const outcome = await startSchemathesis(command, args, { folder })
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
