import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { type LimitName, limitNamed, limitNames } from '#fleet/organizations/limit-table'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'

const limitsSchema = z.strictObject(
  Object.fromEntries(
    limitNames.map((name) => [
      name,
      z
        .int()
        .min(name === 'profileVersions' ? 1 : 0)
        .default(limitNamed(name).most),
    ]),
  ) as Record<LimitName, z.ZodDefault<z.ZodInt>>,
)

const planSchema = z.strictObject({
  /** Most devices of an organization, unless its contract sets another quota. */
  deviceQuota: z.int().min(0),
  smartTagGroups: z.boolean(),
  fleetGps: z.boolean(),
  coverage: z.boolean(),
  historyDays: z.int().min(1),
  requestsPerMinute: z.int().min(1),
  /** Most messages about alerts, with those that ask for a confirmation, and invitations on a UTC day. */
  alertMailsPerDay: z.int().min(0).default(1_000),
  /** Only those that differ from the table of limits. */
  limits: limitsSchema.prefault({}),
})

export type Plan = z.infer<typeof planSchema>
export type Plans = Readonly<Record<string, Plan>>

const plansSchema = z
  .record(z.string().regex(/^[a-z][a-z0-9-]{0,39}$/), planSchema)
  .refine((plans) => 'free' in plans, 'The plan "free" is required: it is the default of new organizations.')

/** Reads the plans from the file at `path`, or from the `plans.json` beside this module. Throws when it is invalid. */
export async function loadPlans(path?: string): Promise<Plans> {
  const text = await readFile(path ?? new URL('./plans.json', import.meta.url), 'utf8')
  return plansSchema.parse(JSON.parse(text))
}

/** Returns the plan of that name; undefined if the file does not contain it. Every object has a `constructor`, and no plan is one. */
export const findPlan = (plans: Plans, name: string): Plan | undefined =>
  Object.hasOwn(plans, name) ? plans[name] : undefined

/** Returns the plan of that name, or `free` when the file no longer contains it. */
export function planNamed(plans: Plans, name: string): Plan {
  const plan = findPlan(plans, name) ?? plans.free
  if (!plan) throw new Error('The plans file has no plan "free".')
  return plan
}

/** A plan as callers see it. */
export const listedPlanSchema = z
  .object({
    name: z.string(),
    deviceQuota: z.int().describe('Maximum number of devices, unless the subscription overrides it.'),
    requestsPerMinute: z.int(),
    alertMailsPerDay: z.int().describe('Most messages about alerts on a UTC day.'),
    historyDays: z.int(),
    limits: z.record(z.enum(limitNames), z.int()).describe('The most that an organization can store of each kind.'),
    features: z.object({ smartTagGroups: z.boolean(), fleetGps: z.boolean(), coverage: z.boolean() }),
  })
  .meta({ id: 'Plan' })

/** The parts of the product that a plan includes. */
export const featuresOf = ({ smartTagGroups, fleetGps, coverage }: Plan) => ({ smartTagGroups, fleetGps, coverage })

/** A page of the plans, in the order of the configuration. */
export function listPlans(plans: Plans, { page }: { page: PageRequest }): Page<z.infer<typeof listedPlanSchema>> {
  const all = Object.entries(plans)
  const start = all.findIndex(([name]) => name === page.after) + 1
  return pageBy(
    all.slice(start),
    page.limit,
    ([name, plan]) => {
      const { deviceQuota, requestsPerMinute, alertMailsPerDay, historyDays, limits } = plan
      return { name, deviceQuota, requestsPerMinute, alertMailsPerDay, historyDays, limits, features: featuresOf(plan) }
    },
    ([name]) => name,
  )
}
