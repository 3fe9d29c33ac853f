import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { Secret } from '#core/secret'

/** How to reach the brokers, and the topic of accepted reports. */
export type KafkaSettings = {
  brokers: string[]
  topic: string
  /** For the creation of the topic. An existing topic keeps its own. */
  partitions: number
  retentionMs: number
  tls: { ca?: Buffer } | undefined
  sasl: { mechanism: SaslMechanism; username: string; password: Secret } | undefined
}

const saslMechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
type SaslMechanism = (typeof saslMechanisms)[number]

const hourMs = 60 * 60 * 1_000

/** The environment variables of the apps that use Kafka. */
export const kafkaVariables = {
  KAFKA_BROKERS: z
    .string()
    .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'must be host:port, separated by commas')
    .optional()
    .describe(
      '`host:port` of some brokers, separated by commas. The durable log is then a Kafka topic, and `apps/writer` stores it; see [operations](operations.md#run-the-log-on-kafka). Default: segment files in `LOG_DIR`; with `--cluster`, the embedded broker.',
    ),
  KAFKA_TOPIC: z
    .string()
    .default('routerfleet.telemetry')
    .describe('The topic of accepted reports, created if missing.'),
  KAFKA_PARTITIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000)
    .default(12)
    .describe('The partitions of a topic that is created. The broker of `--cluster` has 4.'),
  KAFKA_RETENTION_HOURS: z.coerce
    .number()
    .int()
    .min(1)
    .default(168)
    .describe('How long a topic that is created keeps reports.'),
  KAFKA_TLS: z
    .stringbool()
    .default(false)
    .describe('TLS to the brokers, with the certificate authorities of the system or of `KAFKA_TLS_CA_FILE`.'),
  KAFKA_TLS_CA_FILE: z
    .string()
    .optional()
    .describe('A file with the certificate authorities of the brokers. Switches on TLS.'),
  KAFKA_SASL_MECHANISM: z
    .enum(saslMechanisms)
    .default('SCRAM-SHA-512')
    .describe('`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.'),
  KAFKA_SASL_USERNAME: z.string().optional().describe('The user name for SASL. Default: no SASL.'),
  KAFKA_SASL_PASSWORD: z
    .string()
    .transform((text) => new Secret(text))
    .optional()
    .describe('The password for SASL.'),
}

type KafkaVariables = z.infer<z.ZodObject<typeof kafkaVariables>>

/**
 * Returns the settings of the variables, or undefined without brokers. Throws if the CA file cannot be read, and an error with
 * one sentence if there is a user name without a password.
 */
export function kafkaSettings(variables: KafkaVariables): KafkaSettings | undefined {
  if (variables.KAFKA_BROKERS === undefined) return undefined
  const { KAFKA_TLS_CA_FILE: caFile, KAFKA_SASL_USERNAME: username, KAFKA_SASL_PASSWORD: password } = variables
  if (username && !password) {
    throw new Error('Invalid configuration. KAFKA_SASL_PASSWORD: required with KAFKA_SASL_USERNAME')
  }
  return {
    brokers: variables.KAFKA_BROKERS.split(','),
    topic: variables.KAFKA_TOPIC,
    partitions: variables.KAFKA_PARTITIONS,
    retentionMs: variables.KAFKA_RETENTION_HOURS * hourMs,
    tls: variables.KAFKA_TLS || caFile ? { ...(caFile && { ca: readFileSync(caFile) }) } : undefined,
    sasl: username && password ? { mechanism: variables.KAFKA_SASL_MECHANISM, username, password } : undefined,
  }
}
