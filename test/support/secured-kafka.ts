import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findJava } from '../../apps/stack/engines/java.ts'
import { kafkaJars, kafkaProgram } from '../../apps/stack/engines/kafka-program.ts'
import { canConnect, freePort, startProcess, stopProcess, waitUntilReady } from '../../apps/stack/engines/process.ts'

const run = promisify(execFile)

/** A broker that accepts only TLS connections of its one user. */
export type SecuredKafka = {
  /** Host and port for clients. */
  broker: string
  username: string
  password: string
  /** The file with the authority of the broker's certificate. */
  caFile: string
  stop(): Promise<void>
}

const username = 'routerfleet'
const scramMechanisms = ['SCRAM-SHA-256', 'SCRAM-SHA-512']
const mechanisms = ['PLAIN', ...scramMechanisms]
const javaFlags = ['-Xmx384m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']

/** Starts a broker with TLS and SASL by all mechanisms, with a new certificate and a new password. Needs `openssl`. */
export async function startSecuredKafka(): Promise<SecuredKafka> {
  const dir = await mkdtemp(join(tmpdir(), 'routerfleet-secured-kafka-'))
  const [java, jars] = await Promise.all([findJava(kafkaProgram, process.env.JAVA_HOME), kafkaJars('.cache')])
  const password = randomBytes(16).toString('hex')
  const ports = { broker: await freePort(), internal: await freePort(), controller: await freePort() }
  const [keyFile, caFile, keyStore] = [join(dir, 'key.pem'), join(dir, 'ca.pem'), join(dir, 'keystore.pem')]
  await makeCertificate(keyFile, caFile)
  await writeFile(keyStore, (await readFile(keyFile, 'utf8')) + (await readFile(caFile, 'utf8')))
  const properties = join(dir, 'server.properties')
  await writeFile(properties, settings(ports, password, keyStore, join(dir, 'data')))

  const classPath = ['-cp', join(jars, '*')]
  const users = scramMechanisms.flatMap((name) => ['--add-scram', `${name}=[name=${username},password=${password}]`])
  const cluster = `--cluster-id=${randomBytes(16).toString('base64url')}`
  await run(
    java,
    [...javaFlags, ...classPath, 'kafka.tools.StorageTool', 'format', cluster, '-c', properties, ...users],
    {
      cwd: dir,
    },
  )
  const [logFile, pidFile] = [join(dir, 'server.log'), join(dir, 'pid')]
  const broker = await startProcess(java, [...javaFlags, ...classPath, 'kafka.Kafka', properties], {
    logFile,
    pidFile,
    cwd: dir,
  })
  async function stop(): Promise<void> {
    await stopProcess(broker, [{ signal: 'SIGKILL', deadlineMs: 5_000 }], pidFile)
    await rm(dir, { recursive: true, force: true })
  }
  await waitUntilReady('Kafka', broker, () => canConnect(ports.broker), { logFile }).catch(async (error: unknown) => {
    await stop()
    throw error
  })
  return { broker: `localhost:${ports.broker}`, username, password, caFile, stop }
}

/** Makes a self-signed certificate for localhost. */
async function makeCertificate(keyFile: string, certificateFile: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  await run('openssl', ['req', '-x509', ...key, '-out', certificateFile, ...names])
}

type Ports = Record<'broker' | 'internal' | 'controller', number>

function settings(ports: Ports, password: string, keyStore: string, dataDir: string): string {
  const client = 'listener.name.client'
  const login = (module: string, options = '') => `org.apache.kafka.common.security.${module} required${options};`
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${ports.controller}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'INTERNAL',
    listeners: `CLIENT://localhost:${ports.broker},INTERNAL://127.0.0.1:${ports.internal},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `CLIENT://localhost:${ports.broker},INTERNAL://127.0.0.1:${ports.internal}`,
    'listener.security.protocol.map': 'CLIENT:SASL_SSL,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT',
    [`${client}.ssl.keystore.type`]: 'PEM',
    [`${client}.ssl.keystore.location`]: keyStore,
    [`${client}.sasl.enabled.mechanisms`]: mechanisms.join(','),
    [`${client}.plain.sasl.jaas.config`]: login('plain.PlainLoginModule', ` user_${username}="${password}"`),
    ...Object.fromEntries(
      scramMechanisms.map((name) => [
        `${client}.${name.toLowerCase()}.sasl.jaas.config`,
        login('scram.ScramLoginModule'),
      ]),
    ),
    'log.dirs': dataDir,
    'auto.create.topics.enable': false,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'num.network.threads': 2,
    'num.io.threads': 2,
  }
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}
