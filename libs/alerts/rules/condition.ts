import { z } from 'zod'
import { uuid } from '#core/schemas'

const minutes = (min: number, max: number) =>
  z.int().min(min).max(max).describe('How long the condition must hold before an alert opens.')

const weekMinutes = 10_080
// Rounds read this much telemetry again and again.
const maxTelemetryMinutes = 360

/** When a rule opens alerts. Units are in the names. */
export const conditionSchema = z.discriminatedUnion('kind', [
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
  z.strictObject({ kind: z.literal('entered_place'), placeId: uuid(), forMinutes: minutes(0, weekMinutes) }),
  z.strictObject({ kind: z.literal('left_place'), placeId: uuid(), forMinutes: minutes(0, weekMinutes) }),
  z.strictObject({
    kind: z.literal('data_use'),
    aboveMegabytes: z.number().min(1).max(1_000_000_000),
    period: z.enum(['day', 'month']).describe('In UTC.'),
  }),
])

export type Condition = z.infer<typeof conditionSchema>
export type AlertKind = Condition['kind']
export const alertKinds = conditionSchema.options.map((option) => option.shape.kind.value)

export const severities = ['info', 'warning', 'critical'] as const
export type Severity = (typeof severities)[number]

/** A condition as columns of `alert_rule`. */
export type ConditionColumns = {
  kind: AlertKind
  for_minutes: number
  threshold: number | null
  place_id: string | null
  period: 'day' | 'month' | null
}

export const toColumns = (condition: Condition): ConditionColumns => ({
  kind: condition.kind,
  for_minutes: 'forMinutes' in condition ? condition.forMinutes : 0,
  threshold: thresholdOf(condition),
  place_id: 'placeId' in condition ? condition.placeId : null,
  period: 'period' in condition ? condition.period : null,
})

function thresholdOf(condition: Condition): number | null {
  switch (condition.kind) {
    case 'weak_signal':
      return condition.rsrpBelowDbm
    case 'high_temperature':
      return condition.temperatureAboveC
    case 'data_use':
      return condition.aboveMegabytes
    default:
      return null
  }
}

export function toCondition(columns: ConditionColumns): Condition {
  const { kind, for_minutes: forMinutes, threshold, place_id, period } = columns
  switch (kind) {
    case 'weak_signal':
      return { kind, rsrpBelowDbm: threshold ?? 0, forMinutes }
    case 'high_temperature':
      return { kind, temperatureAboveC: threshold ?? 0, forMinutes }
    case 'data_use':
      return { kind, aboveMegabytes: threshold ?? 0, period: period ?? 'day' }
    case 'entered_place':
    case 'left_place':
      return { kind, placeId: place_id ?? '', forMinutes }
    default:
      return { kind, forMinutes }
  }
}
