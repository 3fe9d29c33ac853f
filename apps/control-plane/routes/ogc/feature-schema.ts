import type { CollectionId } from '#fleet-map/features/collections'
import { featureProperties } from '#fleet-map/features/properties'

export const schemaType = 'application/schema+json'

/** The JSON Schema of a feature of a collection. Null stands for a value that is not there, so the types do not name it. */
export function featureSchemaOf(id: CollectionId, title: string) {
  const properties = Object.fromEntries(
    Object.entries(featureProperties[id]).map(([name, type]) => [
      name,
      type === 'date-time' ? { type: 'string', format: type } : { type },
    ]),
  )
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    type: 'object',
    properties: {
      type: { type: 'string', enum: ['Feature'] },
      id: { type: 'string' },
      geometry: { $ref: 'https://geojson.org/schema/Geometry.json' },
      properties: { type: 'object', properties },
    },
  }
}
