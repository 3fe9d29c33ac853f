import { readFile } from 'node:fs/promises'
import { z } from 'zod'

const planSchema = z.strictObject({
  /** Devices that may exist, unless the organization's contract says another number. */
  deviceQuota: z.int().min(0),
  smartTagGroups: z.boolean(),
  fleetGps: z.boolean(),
  coverage: z.boolean(),
  historyDays: z.int().min(1),
  requestsPerMinute: z.int().min(1),
})

export type Plan = z.infer<typeof planSchema>
export type Plans = Readonly<Record<string, Plan>>

const plansSchema = z
  .record(z.string().regex(/^[a-z][a-z0-9-]{0,39}$/), planSchema)
  .refine((plans) => 'free' in plans, 'A plan named "free" is needed: it is what an organization gets by default.')

/** Reads the plans file: the shipped `plans.json` beside this module, or the file an installation names. */
export async function loadPlans(path?: string): Promise<Plans> {
  const text = await readFile(path ?? new URL('./plans.json', import.meta.url), 'utf8')
  return plansSchema.parse(JSON.parse(text))
}

/** The named plan. A name that left the file counts as the most limited one there is, never as no limit. */
export function planNamed(plans: Plans, name: string): Plan {
  const plan = plans[name] ?? plans.free
  if (!plan) throw new Error('The plans file has no plan "free".')
  return plan
}
