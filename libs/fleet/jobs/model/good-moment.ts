import { z } from 'zod'
import { badRequest } from '#core/errors'
import { instantOut } from '#core/schemas'
import type { Schedule } from '#fleet/jobs/model/schedule'

// A job can wait for a good moment of its device: a good signal, or a stop. Begin here; then `../moments.ts`, which stores what the
// devices report, and `heldBecauseSql` below, which decides.

const moments = ['goodSignal', 'dwell', 'goodSignalAndDwell'] as const
/** From worst to best, as `qualities` of telemetry without `none`. */
const leastQualities = ['poor', 'fair', 'good', 'excellent'] as const

const fields = {
  when: z
    .enum(moments)
    .describe(
      '`goodSignal`: while the newest signal of the active modem, at most 2 minutes old, has `minQuality`. `dwell`: while the device dwells.',
    ),
  minQuality: z.enum(leastQualities),
}

/** When devices may take the jobs of a request. */
export const deliverySchema = z
  .strictObject({
    ...fields,
    minQuality: fields.minQuality.default('good').describe('The lowest quality of a good signal.'),
    latestAt: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('When waiting ends. Without it, a job waits until it expires.'),
    atLatest: z
      .enum(['deliver', 'expire'])
      .optional()
      .describe('What follows at `latestAt`: `deliver` (default) delivers the job at any moment, `expire` ends it.'),
  })
  .refine(({ latestAt, atLatest }) => latestAt !== undefined || atLatest === undefined, {
    message: '`atLatest` needs `latestAt`.',
    path: ['atLatest'],
  })
  .meta({ id: 'NewJobDelivery' })

export type NewJobDelivery = z.output<typeof deliverySchema>

export const deliveryOut = z
  .object({
    ...fields,
    latestAt: instantOut().nullable(),
    atLatest: z.enum(['deliver', 'expire']).nullable().describe('Null without `latestAt`.'),
  })
  .meta({ id: 'JobDelivery' })

/** When devices may take a job. `atLatest` is null without `latestAt`. */
export type JobDelivery = z.infer<typeof deliveryOut>

/** Why a device may not take a job yet. `noSignal`: it reported none in the last 2 minutes. */
export const heldReasons = ['noSignal', 'signalTooWeak', 'notDwelling'] as const
export type HeldReason = (typeof heldReasons)[number]

/** Returns a delivery as it is stored. Throws 400 if `latestAt` has passed, or is before the start of the schedule. */
export function requireDelivery(
  delivery: NewJobDelivery | undefined,
  schedule: Schedule | null,
  nowMs: number,
): JobDelivery | null {
  if (delivery === undefined) return null
  const { when, minQuality, latestAt, atLatest } = delivery
  if (latestAt === undefined) return { when, minQuality, latestAt: null, atLatest: null }
  const latestMs = Date.parse(latestAt)
  if (latestMs <= nowMs) throw tooEarly('`latestAt` has passed. Choose a later time.')
  if (schedule?.startAt !== undefined && latestMs <= Date.parse(schedule.startAt))
    throw tooEarly('`latestAt` must be after `schedule.startAt`.')
  return { when, minQuality, latestAt: new Date(latestMs).toISOString(), atLatest: atLatest ?? 'deliver' }
}

/** Returns the 400 for a `latestAt` that is too early. */
export function tooEarly(reason: string): Error {
  const detail = `/delivery/latestAt: ${reason}`
  return badRequest(detail, [{ pointer: '/delivery/latestAt', code: 'too_early', detail }])
}

/** True when jobs of this delivery have expired at a time. */
export const isDeliveryOver = (delivery: JobDelivery | null, atMs: number): boolean =>
  delivery?.latestAt != null && delivery.atLatest === 'expire' && Date.parse(delivery.latestAt) <= atMs

const inOrder = (quality: string) => `array_position(ARRAY['none', 'poor', 'fair', 'good', 'excellent'], ${quality})`

/** SQL: the delivery of job `job` and of its left-joined batch `batch`, or null. */
export const deliverySql = (job: string, batch: string): string => `coalesce(${job}.delivery, ${batch}.delivery)`

/** SQL: why a device whose row of device_moment is `moment`, or is missing, may not take a job of the delivery `plan` yet, or null. */
export const heldReasonSql = (plan: string, moment: string): string => `CASE
    WHEN ${plan} ->> 'atLatest' = 'deliver' AND (${plan} ->> 'latestAt')::timestamptz <= now() THEN NULL
    WHEN ${plan} ->> 'when' <> 'dwell' AND (${moment}.quality IS NULL OR ${moment}.signal_at < now() - interval '2 minutes')
      THEN 'noSignal'
    WHEN ${plan} ->> 'when' <> 'dwell' AND ${inOrder(`${moment}.quality`)} < ${inOrder(`${plan} ->> 'minQuality'`)}
      THEN 'signalTooWeak'
    WHEN ${plan} ->> 'when' <> 'goodSignal' AND ${moment}.dwelling IS NOT TRUE THEN 'notDwelling' END`

/** SQL: the row of device_moment of job `job`, for a left join. A former organization of the device left no moment. */
export const momentOfJobSql = (moment: string, job: string): string =>
  `${moment}.device_id = ${job}.device_id AND ${moment}.organization_id = ${job}.organization_id`

/**
 * SQL: why the device of job `job` may not take it yet, or null. `batch` is the name of the left-joined job_batch. Compares with
 * the clock of Postgres.
 */
export const heldBecauseSql = (job: string, batch: string): string => `
  CASE WHEN ${deliverySql(job, batch)} IS NOT NULL THEN (
    SELECT ${heldReasonSql('waits.plan', 'm')} FROM (VALUES (${deliverySql(job, batch)})) AS waits (plan)
      LEFT JOIN device_moment m ON ${momentOfJobSql('m', job)}) END`
