import { z } from 'zod'
import { instantOut, numberIn, soughtText, uuid } from '#core/schemas'
import { comparedWindowSchema } from '#fleet-map/last-comparison'
import { repeatable } from '../../http/schemas.ts'

const maxMinutes = 129_600

/** Which devices a list of compared radios or SIMs is about. */
export const comparisonQuery = {
  orgId: uuid().optional().describe('By default, all organizations that you can read.'),
  groupId: uuid().optional(),
  tag: repeatable(soughtText(64)).optional().describe('Can be repeated. Returns devices that have all of these tags.'),
  sinceMinutes: numberIn(z.number().int().min(1).max(maxMinutes))
    .prefault(43_200)
    .describe('Leaves out organizations whose last comparison is older.'),
}

export const lastComparisonFields = {
  asOf: instantOut().nullable().describe('When the newest comparison ended. Null before the first one.'),
  window: comparedWindowSchema.nullable().describe('The time that the newest comparison covers.'),
}
