import { join as joinPath } from 'node:path'
import { z } from 'zod'
import { type QuestdbServer, questdbServers, questdbVariables } from '#questdb/server/servers'
import { kafkaVariables } from '#telemetry-log/kafka/kafka-settings'

/** The environment variables of the writer. */
export const configSchema = z.object({
  ...kafkaVariables,
  KAFKA_BROKERS: kafkaVariables.KAFKA_BROKERS.unwrap(),
  KAFKA_GROUP: z
    .string()
    .min(1)
    .default('routerfleet.writers')
    .describe(
      'The consumer group. Writers of one group share the partitions and store to one QuestDB. The name of the copy is appended to it.',
    ),
  KAFKA_MEMBER_NAME: z
    .string()
    .regex(/^[\w.-]{1,249}$/, 'must be at most 249 letters, digits, dots, hyphens and underscores')
    .optional()
    .describe(
      'A name that no other writer of the group has. A killed writer that starts again with its name gets its partitions back at once, otherwise they move after 10 s. Default: none; with `npm start`, the machine and the port.',
    ),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8083),
  POSTGRES_URL: z.string().min(1),
  ...questdbVariables,
  QUESTDB_COPY: z
    .string()
    .optional()
    .describe(
      'The copy of `QUESTDB_SERVERS` that this process stores to. Required if there are several. Default: the only one.',
    ),
  WRITER_DIR: z
    .string()
    .default('.data/telemetry-writer')
    .describe('The folder for data that could not be stored, in `dead-letter/`.'),
  /** A file with plans. Its longest history determines how long rows are kept. */
  PLANS_FILE: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type WriterConfig = z.infer<typeof configSchema>

/** The server that a process stores to, and its consumer group. */
export type WrittenCopy = { server: QuestdbServer; groupId: string }

/**
 * Returns the copy that `QUESTDB_COPY` names, or the only server. Throws an error with one sentence if it is missing or
 * unknown. The only server of `QUESTDB_URL` has the group's name alone.
 */
export function writtenCopy(
  config: Pick<WriterConfig, 'KAFKA_GROUP' | 'QUESTDB_COPY' | keyof typeof questdbVariables>,
): WrittenCopy {
  const servers = questdbServers(config)
  const names = servers.flatMap(({ name }) => name ?? [])
  const { QUESTDB_COPY: copy = names.length > 1 ? undefined : names[0] } = config
  const server = servers.find(({ name }) => name === copy)
  if (!server) {
    const choice = names.length > 0 ? `set it to one of ${names.join(', ')}` : 'it needs QUESTDB_SERVERS'
    throw new Error(`Invalid configuration. QUESTDB_COPY: ${choice}; each process stores to one copy`)
  }
  return { server, groupId: groupOf(config.KAFKA_GROUP, server.name) }
}

/** Returns the folder of a copy's data that could not be stored. */
export const folderOf = (config: Pick<WriterConfig, 'WRITER_DIR'>, { server }: WrittenCopy): string =>
  joinPath(config.WRITER_DIR, server.name ?? '')

/** Returns the consumer group of a copy; undefined is the server of `QUESTDB_URL`. */
export const groupOf = (group: string, copy: string | undefined): string =>
  copy === undefined ? group : `${group}.${copy}`

/** The environment variables of the command `copy-offsets.ts`. */
export const offsetsSchema = configSchema.pick({
  KAFKA_BROKERS: true,
  KAFKA_TOPIC: true,
  KAFKA_PARTITIONS: true,
  KAFKA_RETENTION_HOURS: true,
  KAFKA_TLS: true,
  KAFKA_TLS_CA_FILE: true,
  KAFKA_SASL_MECHANISM: true,
  KAFKA_SASL_USERNAME: true,
  KAFKA_SASL_PASSWORD: true,
  KAFKA_GROUP: true,
})

/** The environment variables of the command `replay-dead-letters.ts`. */
export const replaySchema = configSchema.omit({ HOST: true, PORT: true })
