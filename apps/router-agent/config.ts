import { parseArgs } from 'node:util'
import { z } from 'zod'
import { parseConfig } from '#core/config'

/** Every setting is an option (`--base-url X`) or a variable (`BASE_URL=X`); keys are better given as variables. */
const shared = {
  BASE_URL: z.url().default('http://127.0.0.1:8080'),
  ENROLLMENT_KEY: z.string().optional(),
  STATE_DIR: z.string().optional(),
  REPORT_EVERY_MS: z.coerce.number().int().min(200).max(3_600_000).default(10_000),
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
  /** Set by main.ts, so that a restart goes on with the drive instead of beginning it again. */
  REPLAY_STARTED_AT_MS: z.coerce.number().optional(),
  RESTARTED: z.stringbool().default(false),
  /** Keep running, for jobs, after the recording is through. */
  STAY: z.stringbool().default(false),
})

const fleetSchema = z.object({
  ...shared,
  COUNT: z.coerce.number().int().min(1).max(10_000).default(200),
  SEED: z.coerce.number().int().default(1),
  HISTORY_MINUTES: z.coerce.number().int().min(0).max(1_440).default(120),
  /** An operator's key: with it the routers get tags, groups and a profile through the public API. */
  API_KEY: z.string().optional(),
  ORGANIZATION_ID: z.string().optional(),
})

export type AgentConfig = z.infer<typeof agentSchema>
export type FleetConfig = z.infer<typeof fleetSchema>

/** Options of the command line win over variables. Throws one sentence per wrong setting. */
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
