import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { findKubernetesTool } from '#test/kubernetes-tools'
import { configSchema as controlPlaneSchema } from '../../apps/control-plane/config.ts'
import { configSchema as ingestSchema } from '../../apps/ingest/config.ts'
import { questdbTuning } from '../../apps/stack/engines/questdb-tuning.ts'
import { configSchema as workerSchema } from '../../apps/worker/config.ts'
import { configSchema as writerSchema } from '../../apps/writer/config.ts'

const repository = join(import.meta.dirname, '../..')
const folder = join(repository, 'deploy/kubernetes')

const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }).optional() })
const container = z.object({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })).default([]),
  envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }).optional() })).default([]),
  volumeMounts: z.array(z.object({ mountPath: z.string() })).default([]),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  ports: z.array(z.object({ name: z.string(), containerPort: z.number() })),
  livenessProbe: probe,
  readinessProbe: probe,
  startupProbe: probe,
  resources: z.object({
    requests: z.object({ cpu: z.string(), memory: z.string() }),
    limits: z.object({ memory: z.string() }),
  }),
})
const podSchema = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  spec: z.object({
    containers: z.array(container),
    terminationGracePeriodSeconds: z.number(),
    automountServiceAccountToken: z.literal(false),
    securityContext: z.object({
      runAsNonRoot: z.literal(true),
      seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
    }),
  }),
})
const peers = z.array(z.object({ podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }) }))
const policySchema = z.object({
  podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
  policyTypes: z.array(z.string()),
  ingress: z.array(z.object({ ports: z.array(z.object({ port: z.string() })), from: peers.optional() })),
  egress: z.array(z.unknown()).optional(),
})
const manifestSchema = z.object({
  kind: z.string(),
  metadata: z.object({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  data: z.record(z.string(), z.string()).optional(),
  spec: z.looseObject({}).optional(),
})

type Manifest = z.infer<typeof manifestSchema>

const parse = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document) => manifestSchema.parse(document.toJS()))

const kustomization = z
  .object({ resources: z.array(z.string()), configMapGenerator: z.array(z.object({ literals: z.array(z.string()) })) })
  .parse(parseAllDocuments(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'))[0]?.toJS())

const manifests = kustomization.resources.flatMap((name) => parse(readFileSync(join(folder, name), 'utf8')))
const workloads = manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'StatefulSet')
const podOf = (workload: Manifest) => podSchema.parse(workload.spec?.template)
const apps = workloads.filter(({ metadata }) => metadata.name !== 'questdb')

const schemas: Record<string, z.ZodType> = {
  'control-plane': controlPlaneSchema,
  ingest: ingestSchema,
  worker: workerSchema,
  writer: writerSchema,
}

/** The Secret of each app, by the name of the app, as docs/kubernetes.md creates it. */
function documentedSecrets(): Record<string, Record<string, string>> {
  const page = readFileSync(join(repository, 'docs/kubernetes.md'), 'utf8')
  const script = (/```sh\n([\s\S]*?)```/.exec(page)?.[1] ?? '').replace(/^secret\(\).*$/m, '')
  const variables = Object.fromEntries(
    [...script.matchAll(/(\w+)='([^']*)'/g)].map(([, name = '', value = '']) => [name, value]),
  )
  const literalsOf = (text: string) =>
    [...text.matchAll(/--from-literal=(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const)
  return Object.fromEntries(
    [...script.matchAll(/^ *secret (\S+) (.*)$/gm)].map(([, app = '', parts = '']) => {
      const texts = parts.split(' ').map((part) => variables[part.slice(1)] ?? part)
      return [app, Object.fromEntries(texts.flatMap(literalsOf))]
    }),
  )
}
const secrets = documentedSecrets()
/** A value of the page is too short for a master secret. */
const masterSecret = { CONFIG_SECRETS_KEY: 'a master secret for tests, long enough' }

test('only what has a disk is a StatefulSet', () => {
  const kinds = Object.fromEntries(workloads.map(({ kind, metadata }) => [metadata.name, kind]))
  expect(kinds).toEqual({
    questdb: 'StatefulSet',
    writer: 'StatefulSet',
    ingest: 'Deployment',
    worker: 'Deployment',
    'control-plane': 'Deployment',
  })
  for (const { kind, spec } of workloads) expect('volumeClaimTemplates' in (spec ?? {})).toBe(kind === 'StatefulSet')
})

describe.each(workloads.map((workload) => [workload.metadata.name, workload] as const))('%s', (name, workload) => {
  test('has a disruption budget and a service for its pods', () => {
    const { labels } = podOf(workload).metadata
    const selects = (selector: unknown) =>
      expect(labels).toMatchObject(z.record(z.string(), z.string()).parse(selector))
    const ofKind = (kind: string) => manifests.find((one) => one.kind === kind && one.metadata.name === name)
    selects(ofKind('Service')?.spec?.selector)
    const budget = z.object({ matchLabels: z.unknown() }).parse(ofKind('PodDisruptionBudget')?.spec?.selector)
    selects(budget.matchLabels)
  })

  test('has probes, requests and a limit of memory', () => {
    for (const { resources, livenessProbe, readinessProbe } of podOf(workload).spec.containers) {
      expect(resources.limits.memory).not.toBe('')
      if (name === 'questdb') continue
      expect(livenessProbe.httpGet).toEqual({ path: '/livez', port: 'http' })
      expect(readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'http' })
    }
  })
})

test.each(apps.map((workload) => [workload.metadata.name, workload] as const))(
  '%s starts with this environment',
  (name, workload) => {
    const [only] = podOf(workload).spec.containers
    const literals = kustomization.configMapGenerator.flatMap(({ literals }) => literals)
    const shared = Object.fromEntries(literals.map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]))
    const own = Object.fromEntries((only?.env ?? []).map((variable) => [variable.name, variable.value]))
    expect(only?.command).toEqual(['node', `apps/${name}/main.ts`])
    const kept = secrets[name] ?? {}
    const withLongKey = 'CONFIG_SECRETS_KEY' in kept ? { ...kept, ...masterSecret } : kept
    const config = parseConfig(schemas[name] ?? z.never(), { ...shared, ...withLongKey, ...own })
    expect(config).toMatchObject({ PORT: only?.ports[0]?.containerPort })
  },
)

test('each app has a Secret of its own, with only what it reads', () => {
  const namesOf = (app: string) => Object.keys(secrets[app] ?? {}).filter((name) => !/^KAFKA_(TLS|SASL)/.test(name))
  expect(Object.fromEntries(Object.keys(secrets).map((app) => [app, namesOf(app).sort()]))).toEqual({
    questdb: ['QUESTDB_PASSWORD'],
    'control-plane': ['CONFIG_SECRETS_KEY', 'POSTGRES_URL', 'QUESTDB_PASSWORD', 'REDIS_URL'],
    ingest: ['CONFIG_SECRETS_KEY', 'KAFKA_BROKERS', 'POSTGRES_URL', 'REDIS_URL'],
    worker: ['CONFIG_SECRETS_KEY', 'POSTGRES_URL', 'QUESTDB_PASSWORD', 'REDIS_URL'],
    writer: ['KAFKA_BROKERS', 'POSTGRES_URL', 'QUESTDB_PASSWORD'],
  })
  for (const workload of apps) {
    const references = podOf(workload).spec.containers.flatMap(({ envFrom }) =>
      envFrom.flatMap((one) => one.secretRef ?? []),
    )
    expect(references).toEqual([{ name: `routerfleet-${workload.metadata.name}` }])
  }
  const questdb = readFileSync(join(folder, 'questdb.yaml'), 'utf8')
  expect([...questdb.matchAll(/secretKeyRef:\n +name: (\S+)/g)].map(([, name]) => name)).toEqual([
    'routerfleet-questdb',
    'routerfleet-questdb',
  ])
})

test('the namespace enforces restricted pods', () => {
  const namespace = manifests.find(({ kind }) => kind === 'Namespace')
  expect(namespace?.metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' })
})

test('only the control plane is open to the cluster; the others answer the apps that call them', () => {
  const all = [...manifests, ...parse(readFileSync(join(folder, 'gateway/network.yaml'), 'utf8'))]
  const policies = all.filter(({ kind }) => kind === 'NetworkPolicy')
  const callers = policies.map(({ metadata, spec }) => {
    const { podSelector, policyTypes, ingress } = policySchema.parse(spec)
    expect(podSelector.matchLabels).toEqual({ 'app.kubernetes.io/name': metadata.name })
    expect(policyTypes).toContain('Ingress')
    const names = ({ from }: (typeof ingress)[number]) =>
      from?.map((peer) => peer.podSelector.matchLabels['app.kubernetes.io/name']) ?? ['everybody']
    return [metadata.name, ingress.flatMap(names)]
  })
  expect(Object.fromEntries(callers)).toEqual({
    'control-plane': ['everybody'],
    ingest: ['control-plane', 'gateway'],
    worker: ['control-plane'],
    writer: ['control-plane'],
    questdb: ['control-plane', 'worker', 'writer', 'backup'],
    gateway: [],
  })
  const questdb = policies.find(({ metadata }) => metadata.name === 'questdb')
  expect(questdb?.spec).toMatchObject({ policyTypes: ['Ingress', 'Egress'], egress: [] })
})

test('the containers of the gateway are restricted, and what is written is on a volume', () => {
  const [gateway] = parse(readFileSync(join(folder, 'gateway/gateway.yaml'), 'utf8')).filter(
    ({ kind }) => kind === 'StatefulSet',
  )
  expect(gateway && podOf(gateway).spec.containers).toHaveLength(1)
  const mounts = Object.fromEntries(
    workloads.map((workload) => [
      workload.metadata.name,
      podOf(workload).spec.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ mountPath }) => mountPath)),
    ]),
  )
  expect(mounts).toMatchObject({
    questdb: ['/var/lib/questdb', '/tmp'],
    writer: ['/var/lib/routerfleet'],
    ingest: [],
    worker: [],
    'control-plane': [],
  })
})

test('no manifest contains a secret', () => {
  const texts = kustomization.resources.map((name) => readFileSync(join(folder, name), 'utf8'))
  expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([])
  for (const text of texts) expect(text).not.toMatch(/PASSWORD\n\s+value:/)
})

test('QuestDB has the settings of the embedded one', () => {
  const questdb = workloads.find(({ metadata }) => metadata.name === 'questdb')
  const environment = questdb && podOf(questdb).spec.containers[0]?.env
  const settings = (environment ?? []).filter(({ name }) => name in questdbTuning)
  expect(Object.fromEntries(settings.map(({ name, value }) => [name, value]))).toEqual(questdbTuning)
})

const [kustomize, validate] = [findKubernetesTool('kustomize'), findKubernetesTool('kubernetes-validate')]
const temporary = mkdtempSync(join(tmpdir(), 'routerfleet-kubernetes-'))
afterAll(() => rmSync(temporary, { recursive: true }))

test('kustomize renders the folder, and every manifest matches the schema of Kubernetes', ({ skip }) => {
  if (!kustomize || !validate) return skip('needs kustomize and kubernetes-validate (.ci/run installs them).')
  const rendered = spawnSync(kustomize, ['build', folder], { encoding: 'utf8' })
  expect(rendered).toMatchObject({ status: 0 })
  const all = parse(rendered.stdout)
  expect(all.length).toBe(manifests.length + 1)
  for (const { kind, metadata } of all) if (kind !== 'Namespace') expect(metadata.namespace).toBe('routerfleet')
  const file = join(temporary, 'rendered.yaml')
  writeFileSync(file, rendered.stdout)
  const validated = spawnSync(validate, ['--strict', file], { encoding: 'utf8' })
  expect(`${validated.stdout}${validated.stderr}`).not.toMatch(/ERROR|error/)
  expect(validated.status).toBe(0)
})
