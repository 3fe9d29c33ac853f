import { z } from 'zod'
import type { Field } from './field-types.ts'
import { cellListFields, fieldsOf, type Kind, kinds, maxAgeMs } from './fields.ts'

const time = z.union([z.iso.datetime({ offset: true }), z.int()]).describe('RFC 3339 or epoch milliseconds')
const age = z.number().min(0).max(maxAgeMs)

function valueSchema(field: Field): z.ZodType {
  switch (field.type) {
    case 'number':
      return z.number().min(field.min).max(field.max)
    case 'text':
      return field.maxCharacters ? z.string().min(1).max(field.maxCharacters) : z.string().max(256)
    case 'word':
      return z.enum(field.words)
    case 'decimal':
      return z.string().regex(/^\d+$/)
    case 'plmn':
      return z.string().regex(/^\d{5,6}$/)
    case 'time':
      return time
    case 'cells':
      return z.array(objectOf(Object.entries(cellListFields))).max(field.maxItems)
  }
}

const describe = (field: Field): string =>
  field.type === 'number' && field.unit !== '' ? `${field.description} (${field.unit})` : field.description

const objectOf = (fields: [string, Field][]) =>
  z.object(
    Object.fromEntries(
      fields.map(([name, field]) => [name, valueSchema(field).nullable().optional().describe(describe(field))]),
    ),
  )

/**
 * Returns the schema of a sample for OpenAPI. Reports are not validated with it: `decodeBatch` and `cleanSample` decide
 * what is accepted and cleaned. They are much faster and more lenient.
 */
export const sampleSchema = (kind: Kind) =>
  objectOf(fieldsOf(kind)).extend({
    kind: z.literal(kind),
    ts: time.optional(),
    ageMs: age.optional().describe('Age of the sample when sent without `ts`; of the fix in a location with one'),
  })

/** The body of a telemetry report as documented in OpenAPI. */
export const reportSchema = z
  .object({
    sentAt: time.optional(),
    batchId: z.string().max(256).optional(),
    samples: z
      .array(z.union(kinds.map(sampleSchema)))
      .min(1)
      .max(1000),
  })
  .meta({ id: 'TelemetryReport' })

/** Returns the schema of a stored sample's fields. All are present, null if no usable value was sent. */
export const recordFieldsSchema = (kind: Kind) =>
  z.object(
    Object.fromEntries(
      fieldsOf(kind).map(([name, field]) => [name, readSchema(field).nullable().describe(describe(field))]),
    ),
  )

const readSchema = (field: Field) => (field.type === 'time' ? z.iso.datetime() : valueSchema(field))
