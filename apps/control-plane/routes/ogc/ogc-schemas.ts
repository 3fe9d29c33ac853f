import { z } from 'zod'
import { instantOut } from '#core/schemas'

const linkSchema = z
  .object({ href: z.string(), rel: z.string(), type: z.string(), title: z.string().optional() })
  .meta({ id: 'OgcLink' })

const links = z.array(linkSchema)

export const landingPageSchema = z
  .object({ title: z.string(), description: z.string(), links })
  .meta({ id: 'OgcLandingPage' })

export const conformanceSchema = z.object({ conformsTo: z.array(z.string()) }).meta({ id: 'OgcConformance' })

export const collectionSchema = z
  .object({
    id: z.string(),
    title: z.string(),
    description: z.string(),
    itemType: z.literal('feature'),
    crs: z.array(z.string()),
    extent: z.object({
      spatial: z.object({ bbox: z.array(z.array(z.number())), crs: z.string() }),
      temporal: z.object({
        interval: z
          .array(z.array(instantOut().nullable()))
          .describe('From the start of the history that the plan includes until now.'),
        trs: z.string(),
      }),
    }),
    links,
  })
  .meta({ id: 'OgcCollection' })

export const collectionsSchema = z
  .object({ links, collections: z.array(collectionSchema) })
  .meta({ id: 'OgcCollections' })

export const jsonSchemaSchema = z
  .looseObject({ $schema: z.string(), title: z.string(), type: z.literal('object') })
  .describe('JSON Schema 2020-12.')

const featureMembers = {
  type: z.literal('Feature'),
  id: z.string(),
  geometry: z.looseObject({ type: z.string() }).nullable().describe('In CRS84: longitude first.'),
  properties: z
    .record(z.string(), z.unknown())
    .describe('Names of nested values have an underscore: `signal_rsrpDbm`.'),
}

export const featureSchema = z.object({ ...featureMembers, links }).meta({ id: 'OgcFeature' })

export const featuresSchema = z
  .object({
    type: z.literal('FeatureCollection'),
    timeStamp: instantOut(),
    numberMatched: z.int().optional().describe('Features on all pages; absent if it is not known.'),
    numberReturned: z.int(),
    links: links.describe('`next` leads to the next page; the last page has none.'),
    features: z.array(z.object(featureMembers)),
  })
  .meta({ id: 'OgcFeatures' })
