import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { kafkaSettings } from '#telemetry-log/kafka/kafka-settings'
import { configSchema as ingestSchema } from '../../apps/ingest/config.ts'
import { configSchema as writerSchema, writtenCopy } from '../../apps/writer/config.ts'

const repository = join(import.meta.dirname, '../..')

const fileSchema = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string().optional(),
      extends: z.object({ file: z.string(), service: z.string() }).optional(),
      environment: z.record(z.string(), z.coerce.string()).default({}),
      deploy: z.object({ mode: z.literal('replicated'), replicas: z.number() }).optional(),
      volumes: z.array(z.string()).default([]),
      ports: z.array(z.string()).nullable().default([]),
    }),
  ),
  volumes: z.record(z.string(), z.unknown()),
})

/** Reads a compose file with its defaults, and `value-of-<name>` for variables without one. */
function readCompose(name: string) {
  const text = readFileSync(join(repository, name), 'utf8').replaceAll(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, variable, kind, word) => (kind === '-' ? word : `value-of-${variable}`),
  )
  return fileSchema.parse(parse(text, { merge: true, logLevel: 'silent' }))
}

const [base, kafka] = [readCompose('docker-compose.yml'), readCompose('docker-compose.kafka.yml')]
const brokers = Object.entries(kafka.services).filter(([, { image }]) => image?.startsWith('apache/kafka:'))

/** The environment of a service in both files. */
const environmentOf = (name: string) => ({
  ...base.services[name]?.environment,
  ...kafka.services[name]?.environment,
})

test('the services use all brokers, which agree about their quorum', () => {
  const names = brokers.map(([name]) => name)
  expect(names).toHaveLength(3)
  const settings = kafkaSettings(
    parseConfig(ingestSchema, { ...environmentOf('ingest'), CONFIG_SECRETS_KEY: 'x'.repeat(32) }),
  )
  expect(settings?.brokers).toEqual(names.map((name) => `${name}:9092`))
  for (const [name, { environment, volumes }] of brokers) {
    expect(environment.KAFKA_ADVERTISED_LISTENERS).toBe(`PLAINTEXT://${name}:9092`)
    expect(environment.KAFKA_CONTROLLER_QUORUM_VOTERS).toContain(`${environment.KAFKA_NODE_ID}@${name}:9093`)
    expect(volumes).toEqual([`${name}:/var/lib/kafka/data`])
    expect(Buffer.from(environment.CLUSTER_ID ?? '', 'base64url')).toHaveLength(16)
  }
  expect(new Set(brokers.map(([, { environment }]) => environment.KAFKA_NODE_ID)).size).toBe(3)
})

test('the writer has the databases and the brokers of ingest', () => {
  const [writer, ingest] = [environmentOf('writer'), environmentOf('ingest')]
  const config = parseConfig(writerSchema, writer)
  expect(config.PORT).toBe(8083)
  for (const name of ['POSTGRES_URL', 'QUESTDB_SERVERS', 'QUESTDB_PASSWORD', 'KAFKA_BROKERS'] as const)
    expect(writer[name]).toBe(ingest[name])
})

test('both copies of QuestDB have writers, and every app knows them', () => {
  const urls = Object.fromEntries(
    ['writer', 'writer-b'].map((name) => {
      const { server, groupId } = writtenCopy(parseConfig(writerSchema, environmentOf(name)))
      return [groupId, server.url]
    }),
  )
  expect(urls).toEqual({
    'routerfleet.writers.a': 'http://questdb:9000',
    'routerfleet.writers.b': 'http://questdb-b:9000',
  })
  for (const name of ['ingest', 'worker', 'control-plane', 'backup', 'restore']) {
    const environment = environmentOf(name)
    expect(environment.QUESTDB_SERVERS).toBe(environmentOf('writer').QUESTDB_SERVERS)
    expect([environment.QUESTDB_URL, environment.QUESTDB_PG_URL]).toEqual(['', ''])
  }
  expect(kafka.services['questdb-b']).toMatchObject({ extends: { service: 'questdb' } })
})

test('every app runs twice, and only the proxy is reachable', () => {
  const replicas = Object.entries(kafka.services).flatMap(([name, { deploy }]) =>
    deploy ? [[name, deploy.replicas]] : [],
  )
  expect(Object.fromEntries(replicas)).toEqual({ ingest: 2, writer: 2, 'writer-b': 2, worker: 2, 'control-plane': 2 })
  const open = Object.entries(kafka.services).filter(([, { ports }]) => ports && ports.length > 0)
  expect(open.map(([name]) => name)).toEqual(['proxy'])
})

test('every named volume is declared', () => {
  for (const { services, volumes } of [base, { ...kafka, volumes: { ...base.volumes, ...kafka.volumes } }]) {
    const named = Object.values(services).flatMap((service) => service.volumes.filter((volume) => /^\w/.test(volume)))
    for (const volume of named) expect(Object.keys(volumes)).toContain(volume.split(':')[0])
  }
})
