import { z } from 'zod'
import { uuid } from '#core/schemas'

const minutes = (min: number, max: number) =>
  z.int().min(min).max(max).describe('How long the condition must hold before an alert opens.')

const weekMinutes = 10_080
// Rounds read this much telemetry again and again.
const maxTelemetryMinutes = 360

/** When a rule opens alerts. Units are in the names. */
export const conditionSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('offline'), forMinutes: minutes(5, weekMinutes) }),
    z.strictObject({ kind: z.literal('no_fix'), forMinutes: minutes(5, weekMinutes) }),
    z.strictObject({
      kind: z.literal('weak_signal'),
      rsrpBelowDbm: z.number().min(-156).max(-31),
      forMinutes: minutes(1, maxTelemetryMinutes),
    }),
    z.strictObject({
      kind: z.literal('high_temperature'),
      temperatureAboveC: z.number().min(-60).max(150),
      forMinutes: minutes(1, maxTelemetryMinutes),
    }),
    z.strictObject({
      kind: z.literal('low_voltage'),
      voltageBelowV: z.number().min(0).max(1000),
      forMinutes: minutes(1, maxTelemetryMinutes),
    }),
    z
      .strictObject({ kind: z.literal('modem_down'), forMinutes: minutes(5, maxTelemetryMinutes) })
      .describe(
        'A modem that was seen in the last 24 hours is without service, or without a report, while its device reports.',
      ),
    z.strictObject({ kind: z.literal('entered_place'), placeId: uuid(), forMinutes: minutes(0, weekMinutes) }),
    z.strictObject({ kind: z.literal('left_place'), placeId: uuid(), forMinutes: minutes(0, weekMinutes) }),
    z
      .strictObject({ kind: z.literal('radio_fault') })
      .describe('The last comparison of radios found a modem of the device to be a `fault`. See radio health.'),
    z
      .strictObject({ kind: z.literal('job_failed') })
      .describe('A job of the last 7 days did not succeed, and none of its kind succeeded afterwards on the device.'),
    z
      .strictObject({ kind: z.literal('profile_not_applied'), forMinutes: minutes(5, weekMinutes) })
      .describe('The device has an earlier version of its configuration profile than the newest.'),
    z
      .strictObject({ kind: z.literal('config_differs'), forMinutes: minutes(0, weekMinutes) })
      .describe('The device says that it runs another configuration than was applied to it.'),
    z
      .strictObject({ kind: z.literal('rebooted') })
      .describe('The device has started again. The alert closes 24 hours after the last restart was noticed.'),
    z
      .strictObject({ kind: z.literal('sim_changed') })
      .describe('A modem has a SIM that it did not have in the 24 hours before. The alert closes after 24 hours.'),
    z
      .strictObject({ kind: z.literal('operator_changed') })
      .describe(
        'A modem is registered with an operator that it did not have in the 24 hours before. The alert closes after 24 hours.',
      ),
    z
      .strictObject({ kind: z.literal('webhook_disabled'), forMinutes: minutes(0, weekMinutes) })
      .describe('The service disabled a webhook of the organization. The rule has neither a group nor tags.'),
    z.strictObject({
      kind: z.literal('data_use'),
      aboveMegabytes: z.number().min(1).max(1_000_000_000),
      period: z.enum(['day', 'month']).describe('In UTC.'),
    }),
  ])
  .meta({ id: 'AlertCondition' })

export type AlertCondition = z.infer<typeof conditionSchema>
export type AlertKind = AlertCondition['kind']
export const alertKinds = conditionSchema.options.map((option) => option.shape.kind.value)

export const severities = ['info', 'warning', 'critical'] as const

/** SQL value for a row of `alert_rule`: its `AlertCondition` as JSON. */
export const conditionJson = `json_strip_nulls(json_build_object('kind', kind,
    'rsrpBelowDbm', CASE kind WHEN 'weak_signal' THEN threshold END,
    'temperatureAboveC', CASE kind WHEN 'high_temperature' THEN threshold END,
    'voltageBelowV', CASE kind WHEN 'low_voltage' THEN threshold END,
    'placeId', place_id,
    'forMinutes', CASE WHEN kind NOT IN ('data_use', 'radio_fault', 'job_failed',
      'rebooted', 'sim_changed', 'operator_changed') THEN for_minutes END,
    'aboveMegabytes', CASE kind WHEN 'data_use' THEN threshold END,
    'period', period))`

/** SQL values of a `AlertCondition` in JSON for the columns kind, for_minutes, threshold, place_id and period. */
export const conditionValues = (
  json: string,
): string => `${json} ->> 'kind', coalesce((${json} ->> 'forMinutes')::int, 0),
  coalesce(${json} ->> 'rsrpBelowDbm', ${json} ->> 'temperatureAboveC', ${json} ->> 'voltageBelowV',
    ${json} ->> 'aboveMegabytes')::float8,
  (${json} ->> 'placeId')::uuid, ${json} ->> 'period'`
