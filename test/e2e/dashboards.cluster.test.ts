import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type ProductProcess, startProductProcess } from '#test/product-process'
import { until } from '#test/until'
import { freePort } from '../../apps/stack/engines/process.ts'

const run = promisify(execFile)
const deploy = join(import.meta.dirname, '../../deploy')
const rulesFile = join(deploy, 'prometheus/rules.yml')

type Panel = {
  id: number
  title: string
  description: string
  targets: { expr: string; refId: string }[]
  gridPos: Record<'x' | 'y' | 'w' | 'h', number>
}
type Dashboard = {
  uid: string
  title: string
  schemaVersion: number
  panels: Panel[]
  templating: { list: { name: string; type: string }[] }
}
type Rule = { alert: string; expr: string; annotations: { summary: string } }

const boards = globSync('grafana/*.json', { cwd: deploy }).map(
  (name) => [name, JSON.parse(readFileSync(join(deploy, name), 'utf8')) as Dashboard] as const,
)
const groups = (parse(readFileSync(rulesFile, 'utf8')) as { groups: { name: string; rules: Rule[] }[] }).groups
// The metrics of Kafka exist only in an installation with Kafka, and those of the gateway at the gateway.
const isElsewhere = ({ name }: { name: string }) => name.endsWith('kafka') || name.endsWith('gateway')
const rules = groups.filter((group) => !isElsewhere(group)).flatMap((group) => group.rules)
const queries = [
  ...boards.flatMap(([, { title, panels }]) =>
    panels.flatMap((panel) => panel.targets.map(({ expr }) => [`${title}, ${panel.title}`, expr] as const)),
  ),
  ...rules.map(({ alert, expr }) => [`alarm ${alert}`, expr] as const),
]

describe.for(boards)('%s', ([, board]) => {
  test('has a unique id, panels with descriptions, and a data source that the reader chooses', () => {
    expect(boards.filter(([, { uid }]) => uid === board.uid)).toHaveLength(1)
    expect(board.schemaVersion).toBeGreaterThanOrEqual(39)
    expect(board.templating.list).toMatchObject([{ name: 'datasource', type: 'datasource' }])
    expect(new Set(board.panels.map(({ id }) => id)).size).toBe(board.panels.length)
    for (const { description } of board.panels) expect(description).toMatch(/\.$/)
    expect(
      JSON.stringify(board.panels)
        .match(/"uid":"([^"]+)"/g)
        ?.every((uid) => uid.includes('datasource')),
    ).toBe(true)
  })

  test('has panels that do not overlap and fit the width of the grid', () => {
    const taken = new Set<string>()
    for (const { gridPos, title } of board.panels) {
      expect([title, gridPos.x + gridPos.w <= 24]).toEqual([title, true])
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect([title, taken.has(`${x} ${y}`)]).toEqual([title, false])
          taken.add(`${x} ${y}`)
        }
    }
  })
})

let product: ProductProcess
let folder: string
const hasPrometheus = await run('prometheus', ['--version']).then(
  () => true,
  () => false,
)

const call = async (path: string, init: { key: string; method?: string; body?: unknown }) =>
  fetch(product.access.baseUrl + path, {
    method: init.method ?? 'GET',
    headers: { authorization: `Bearer ${init.key}`, 'content-type': 'application/json' },
    ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
  })

beforeAll(async () => {
  product = await startProductProcess([], { COUNT: '100' })
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-prometheus-'))
  await causeEverySeries()
}, 240_000)
afterAll(async () => {
  await product?.stop()
  if (folder) await rm(folder, { recursive: true, force: true })
})

/** Causes what has a counter but does not happen by itself: refused and rejected reports, unmapped fields, and jobs. */
async function causeEverySeries(): Promise<void> {
  const { adminKey: key, demoOrganizationId: organizationId } = product.access
  const created = await call('/devices', {
    key,
    method: 'POST',
    body: { organizationId, serial: 'D-1', name: 'D', model: 'RX' },
  })
  const { id } = (await created.json()) as { id: string }
  const issued = await call(`/devices/${id}/token`, { key, method: 'POST', body: {} })
  const { token } = (await issued.json()) as { token: string }
  const report = (body: unknown, path = '/telemetry') => call(path, { key: token, method: 'POST', body })
  await report({ samples: [] })
  await report({ samples: [{ kind: 'weather' }, { kind: 'cellular', rsrpDbm: -999 }] })
  await report({ ntype: 'LTE', rsrp: -102, moonPhase: 3 }, '/adapters/teltonika')
  await call(`/devices/${id}/jobs`, { key, method: 'POST', body: { kind: 'speed_test' } })
  const polled = await call('/device/jobs/next?waitSeconds=30', { key: token })
  const job = (await polled.json()) as { id: string }
  await report({ attempt: 1, status: 'succeeded' }, `/device/jobs/${job.id}/status`)
}

const metricName = /\b([a-z][a-z_]*_[a-z_0-9]+)(?:\{([^}]*)\})?/g
const functions = new Set(['histogram_quantile'])

/** The metrics of an expression with the labels that it uses. */
function metricsIn(expression: string): { name: string; labels: string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  )
  const plain = expression.replaceAll(/\bby \([^)]*\)/g, '').replaceAll('$__rate_interval', '1m')
  return [...plain.matchAll(metricName)]
    .filter(([, name = '']) => !functions.has(name))
    .map(([, name = '', matchers = '']) => ({
      name,
      labels: [...[...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label = '']) => label), ...grouped],
    }))
}

test('every query uses metrics and labels that the running product exports', async () => {
  const missing = async () => missingIn(await (await call('/metrics', { key: product.access.adminKey })).text())
  // Some series begin with the first pass of a service, seconds after its start.
  await expect.poll(missing, { timeout: 60_000, interval: 1_000 }).toEqual([])
}, 90_000)

/** The metrics and labels of the queries that this exposition does not have. */
function missingIn(exposition: string): string[] {
  const series = exposition.split('\n').filter((line) => !line.startsWith('#'))
  return queries.flatMap(([where, expression]) =>
    metricsIn(expression).flatMap(({ name, labels }) => {
      const own = series.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      if (own.length === 0) return [`${where}: there is no ${name}`]
      return labels
        .filter((label) => !own.some((line) => line.includes(`${label}="`)))
        .map((label) => `${where}: ${name} has no label ${label}`)
    }),
  )
}

test('every alarm of the documentation is a rule', async () => {
  const [, alarms = ''] =
    /^### Alarms$(.*?)^### /ms.exec(await readFile(join(deploy, '../docs/operations.md'), 'utf8')) ?? []
  const documented = [...alarms.matchAll(/^\| `(.+?)`/gm)].map(([, expression = '']) => expression)
  const expressions = groups.flatMap((group) => group.rules.map(({ expr }) => expr))
  const unknown = documented.filter(
    (expression) => !expressions.some((rule) => rule.includes(expression.split(' > ')[0] ?? '')),
  )
  // The probe needs another exporter; `app_up` replaces it.
  expect(unknown).toEqual(['probe_success{path="/readyz"} == 0'])
})

describe('Prometheus', () => {
  beforeEach((context) => {
    if (!hasPrometheus) context.skip('prometheus is not installed')
  })

  test('accepts the configuration and the rules', async () => {
    await writeFile(join(folder, 'metrics-key'), product.access.adminKey)
    await writeFile(join(folder, 'rules.yml'), await readFile(rulesFile))
    await writeFile(join(folder, 'prometheus.yml'), await readFile(join(deploy, 'prometheus/prometheus.yml')))
    const { stdout } = await run('promtool', ['check', 'config', join(folder, 'prometheus.yml')])
    expect(stdout).toContain(`${groups.flatMap((group) => group.rules).length} rules found`)
  })

  test('has data for every query of the dashboards after it has scraped the product', {
    timeout: 180_000,
  }, async () => {
    const example = await readFile(join(deploy, 'prometheus/prometheus.yml'), 'utf8')
    const target = new URL(product.access.baseUrl).host
    const config = example.replace('127.0.0.1:8080', target).replace('scrape_interval: 15s', 'scrape_interval: 1s')
    await writeFile(join(folder, 'prometheus.yml'), config)
    const address = `127.0.0.1:${await freePort()}`
    const options = [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
    ]
    const prometheus = spawn('prometheus', options, { stdio: 'ignore' })
    try {
      const askFor = async (expression: string) => {
        const query = new URLSearchParams({ query: expression.replaceAll('$__rate_interval', '10s') })
        const response = await fetch(`http://${address}/api/v1/query?${query}`).catch(() => undefined)
        const answer = (await response?.json().catch(() => undefined)) as { data?: { result: unknown[] } } | undefined
        return answer?.data?.result.length ?? 0
      }
      const ofBoards = queries.filter(([where]) => !where.startsWith('alarm'))
      const emptyQueries = async () => {
        const counts = await Promise.all(
          ofBoards.map(async ([where, expression]) => [where, await askFor(expression)] as const),
        )
        return counts.filter(([, count]) => count === 0).map(([where]) => where)
      }
      await until('all queries have data', async () => (await emptyQueries()).length === 0, 90_000).catch(
        async (error) => {
          throw new Error(`Without data: ${(await emptyQueries()).join('; ')}`, { cause: error })
        },
      )
    } finally {
      prometheus.kill('SIGTERM')
      await once(prometheus, 'exit')
    }
  })
})
