import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseConfig } from '#core/config'

const port = z.coerce.number().int().min(0).max(65_535)

/** The environment variables of `npm start`. An engine whose address is set here replaces the embedded one. */
export const configSchema = z
  .object({
    POSTGRES_URL: z.string().min(1).optional(),
    QUESTDB_URL: z.url().optional(),
    QUESTDB_PG_URL: z.string().min(1).optional(),
    /** For the apps: the start command does not know how many writers external copies need. */
    QUESTDB_SERVERS: z.undefined('start the apps one by one, or start two embedded copies with --cluster').optional(),
    QUESTDB_USER: z.string().default('admin'),
    QUESTDB_PASSWORD: z.string().default('quest'),
    QUESTDB_RAM_LIMIT_BYTES: z.coerce
      .number()
      .int()
      .positive()
      .optional()
      .describe('The memory limit of the embedded QuestDB outside the Java heap. Default: 2 GiB.'),
    QUESTDB_HEAP_BYTES: z.coerce
      .number()
      .int()
      .min(256 * 1024 ** 2, 'must be at least 268435456 (256 MiB)')
      .optional()
      .describe(
        'The maximum Java heap of the embedded QuestDB; see [operations](operations.md) for large fleets. Default: 512 MiB.',
      ),
    QUESTDB_JAVA_OPTIONS: z
      .string()
      .transform((options) => options.split(/\s+/).filter(Boolean))
      .optional()
      .describe(
        'More options of the Java of the embedded QuestDB, with spaces between. They take precedence over its own.',
      ),
    JAVA_HOME: z.string().optional().describe('The Java for the embedded QuestDB. Default: `java` on the PATH.'),
    KAFKA_BROKERS: z.string().optional(),
    KAFKA_PARTITIONS: z.string().optional(),
    REDIS_URL: z.string().optional(),
    /** Master secret of the installation. If it is missing, the first start generates one in the data folder. */
    CONFIG_SECRETS_KEY: z.string().optional(),
    PUBLIC_BASE_URL: z.url().optional(),
  })
  .refine((config) => (config.QUESTDB_URL === undefined) === (config.QUESTDB_PG_URL === undefined), {
    path: ['QUESTDB_URL'],
    message: 'Set QUESTDB_URL and QUESTDB_PG_URL together',
  })

type StackConfig = z.infer<typeof configSchema>

export type Options = {
  /** Port of the control plane; 0 lets the operating system choose. */
  port: number
  host: string
  /** Absolute path of the data folder. */
  dataDir: string
  demo: boolean
  /** Delete the data of earlier starts. */
  fresh: boolean
  /** Start two copies of each app and of QuestDB, Kafka and Redis. */
  cluster: boolean
  config: StackConfig
  /** Passed to the apps, whose own schemas select the variables that they use. */
  environment: Record<string, string | undefined>
}

const usage = 'npm start [-- --port 8080 --host 127.0.0.1 --data-dir .data --no-demo --fresh --cluster]'

/** Reads the command line and the environment. Throws an error with one sentence for an invalid option or variable. */
export function readOptions(args: string[], environment: Record<string, string | undefined>): Options {
  const { values } = parseArguments(args)
  const parsedPort = port.safeParse(values.port)
  if (!parsedPort.success) throw new Error(`--port must be between 0 and 65535, got "${values.port}". Usage: ${usage}`)
  return {
    port: parsedPort.data,
    host: values.host,
    dataDir: resolve(values['data-dir']),
    demo: values.demo,
    fresh: values.fresh,
    cluster: values.cluster,
    config: parseConfig(configSchema, environment),
    environment,
  }
}

function parseArguments(args: string[]) {
  try {
    return parseArgs({
      args,
      allowNegative: true,
      options: {
        port: { type: 'string', default: '8080' },
        host: { type: 'string', default: '127.0.0.1' },
        'data-dir': { type: 'string', default: '.data' },
        demo: { type: 'boolean', default: true },
        fresh: { type: 'boolean', default: false },
        cluster: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}. Usage: ${usage}`)
  }
}
