import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { stringify } from 'yaml'
import { freePort } from '../../apps/stack/engines/process.ts'
import { until } from './until.ts'

/** Where `.ci/run` builds the collector. */
const built = join(import.meta.dirname, '../../.cache/otel-collector')
const environment = { ...process.env, PATH: [process.env.PATH, built].join(delimiter) }

/** The reason why the OpenTelemetry collector is not available; null if it is. */
export const otelCollectorMissing: string | null =
  spawnSync('otelcol', ['--version'], { env: environment }).error === undefined
    ? null
    : 'The OpenTelemetry collector is not installed (.ci/run builds it with Go).'

export type OtelCollector = {
  /** Where it receives OTLP over HTTP. */
  url: string
  output(): string
  stop(): Promise<void>
}

/** Starts a collector that passes what it receives on to `exporters`, as in its configuration file. */
export async function startOtelCollector(
  signal: 'metrics' | 'traces',
  exporters: Record<string, unknown>,
): Promise<OtelCollector> {
  const folder = mkdtempSync(join(tmpdir(), 'otelcol-'))
  const port = await freePort()
  const configuration = {
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters,
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { [signal]: { receivers: ['otlp'], exporters: Object.keys(exporters) } },
    },
  }
  writeFileSync(join(folder, 'otelcol.yaml'), stringify(configuration))
  const child = spawn('otelcol', ['--config', join(folder, 'otelcol.yaml')], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const gone = once(child, 'exit')
  await until('the collector listens', async () => {
    if (child.exitCode !== null) throw new Error(`The collector ended: ${output}`)
    return listens(port)
  })
  return {
    url: `http://127.0.0.1:${port}`,
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const listens = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
