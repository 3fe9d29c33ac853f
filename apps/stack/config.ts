import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseConfig } from '#core/config'

const port = z.coerce.number().int().min(0).max(65_535)

/** What the start command reads from its environment; an engine named here is used instead of the embedded one. */
const configSchema = z
  .object({
    POSTGRES_URL: z.string().min(1).optional(),
    QUESTDB_URL: z.url().optional(),
    QUESTDB_PG_URL: z.string().min(1).optional(),
    QUESTDB_USER: z.string().default('admin'),
    QUESTDB_PASSWORD: z.string().default('quest'),
    /** How much memory the embedded QuestDB may take outside of its Java heap. */
    QUESTDB_RAM_LIMIT_BYTES: z.coerce.number().int().positive().optional(),
    JAVA_HOME: z.string().optional(),
    /** Master secret of the installation; made on the first start and kept in the data folder when absent. */
    CONFIG_SECRETS_KEY: z.string().optional(),
    PUBLIC_BASE_URL: z.url().optional(),
  })
  .refine((config) => (config.QUESTDB_URL === undefined) === (config.QUESTDB_PG_URL === undefined), {
    path: ['QUESTDB_URL'],
    message: 'QUESTDB_URL and QUESTDB_PG_URL are set together',
  })

export type StackConfig = z.infer<typeof configSchema>

export type Options = {
  /** Where the control plane listens; 0 lets the operating system choose the port. */
  port: number
  host: string
  /** Absolute path of the folder that holds everything a started product keeps. */
  dataDir: string
  demo: boolean
  /** Begin without the data of earlier starts. */
  fresh: boolean
  config: StackConfig
  /** Handed on to the apps, whose own schemas pick what they know. */
  environment: Record<string, string | undefined>
}

const usage = 'npm start [-- --port 8080 --host 127.0.0.1 --data-dir .data --no-demo --fresh]'

/** Reads the command line and the environment. Throws one sentence for a wrong option or variable. */
export function readOptions(args: string[], environment: Record<string, string | undefined>): Options {
  const { values } = parseArguments(args)
  const parsedPort = port.safeParse(values.port)
  if (!parsedPort.success) throw new Error(`--port is a number from 0 to 65535, not "${values.port}". Usage: ${usage}`)
  return {
    port: parsedPort.data,
    host: values.host,
    dataDir: resolve(values['data-dir']),
    demo: values.demo,
    fresh: values.fresh,
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
      },
    })
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}. Usage: ${usage}`)
  }
}
