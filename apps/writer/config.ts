import { z } from 'zod'
import { Secret } from '#core/secret'
import { kafkaVariables } from '#telemetry-log/kafka-settings'

/** The environment variables of the writer. */
export const configSchema = z.object({
  ...kafkaVariables,
  KAFKA_BROKERS: kafkaVariables.KAFKA_BROKERS.unwrap(),
  /** The consumer group. Writers of one group share the partitions and store to one QuestDB. */
  KAFKA_GROUP: z.string().min(1).default('routerfleet.writers'),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8083),
  POSTGRES_URL: z.string().min(1),
  QUESTDB_URL: z.url(),
  QUESTDB_PG_URL: z.string().min(1),
  QUESTDB_USER: z.string().default('admin'),
  QUESTDB_PASSWORD: z
    .string()
    .default('quest')
    .transform((text) => new Secret(text)),
  /** The folder for data that could not be stored, in `dead-letter/`. */
  WRITER_DIR: z.string().default('.data/telemetry-writer'),
  /** A file with plans. Its longest history determines how long rows are kept. */
  PLANS_FILE: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type WriterConfig = z.infer<typeof configSchema>
