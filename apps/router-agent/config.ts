import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseConfig } from '#core/config'

/** Each setting is an option (`--base-url X`) or an environment variable (`BASE_URL=X`). Prefer variables for keys. */
const shared = {
  BASE_URL: z.url().default('http://127.0.0.1:8080'),
  ENROLLMENT_KEY: z.string().optional(),
  STATE_DIR: z.string().optional(),
  REPORT_EVERY_MS: z.coerce.number().int().min(200).max(3_600_000).default(10_000),
  ROLL_BACK_AFTER_MS: z.coerce.number().int().min(1_000).max(86_400_000).default(600_000),
}

const agentSchema = z.object({
  ...shared,
  DEVICE_TOKEN: z.string().optional(),
  SERIAL: z.string().min(1).max(64).default('agent-1'),
  MODEL: z.string().min(1).max(200).default('router'),
  NAME: z.string().max(200).optional(),
  DRIVE: z.string().optional(),
  SPEED: z.coerce.number().positive().max(10_000).default(1),
  FIRMWARE: z.string().default('1.0.0'),
  LONG_POLL_SECONDS: z.coerce.number().int().min(0).max(55).default(50),
  /** Set by main.ts, so that a restart continues the replay of a drive. */
  REPLAY_STARTED_AT_MS: z.coerce.number().optional(),
  RESTARTED: z.stringbool().default(false),
  /** Keep running after the end of the recording, for jobs. */
  STAY: z.stringbool().default(false),
})

const fleetSchema = z.object({
  ...shared,
  COUNT: z.coerce.number().int().min(1).max(10_000).default(200),
  SEED: z.coerce.number().int().default(1),
  /** An ingest process on this machine, to which the routers send telemetry without compression. */
  LOCAL_EDGE_URL: z.url().optional(),
  HISTORY_MINUTES: z.coerce.number().int().min(0).max(1_440).default(120),
  /** API key of an operator, to create tags, groups and a profile for the routers. */
  API_KEY: z.string().optional(),
  ORGANIZATION_ID: z.string().optional(),
  /** Some routers report a shift of yesterday. With an API key, also creates places, alert rules, firmware and rollouts. */
  EXAMPLES: z.stringbool().default(true),
})

type AgentConfig = z.infer<typeof agentSchema>
type FleetConfig = z.infer<typeof fleetSchema>

/** Options of the command line take precedence over variables. Throws an error with one sentence per invalid setting. */
export const readAgentConfig = (argv: string[]): AgentConfig => parseConfig(agentSchema, settings(agentSchema, argv))

export const readFleetConfig = (argv: string[]): FleetConfig => parseConfig(fleetSchema, settings(fleetSchema, argv))

function settings(schema: z.ZodObject, argv: string[]): Record<string, string | undefined> {
  const names = Object.keys(schema.shape)
  const optionOf = (name: string) =>
    name
      .toLowerCase()
      .replaceAll('_', '-')
      .replace(/^device-token$/, 'token')
  const options = Object.fromEntries(
    names.map((name) => [
      optionOf(name),
      { type: name === 'STAY' || name === 'RESTARTED' ? ('boolean' as const) : ('string' as const) },
    ]),
  )
  const { values } = parseArgs({ args: argv, options })
  return Object.fromEntries(names.map((name) => [name, values[optionOf(name)]?.toString() ?? process.env[name]]))
}
