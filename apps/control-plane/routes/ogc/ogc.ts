import { readableCollection, readableCollections } from '#fleet-map/features/collections'
import type { FeatureSources } from '#fleet-map/features/feature-page'
import { listFeatures, readFeature } from '#fleet-map/features/read-features'
import { nextCursorOf, pageRequest } from '../../http/paging.ts'
import { requestReader } from '../../http/request-reader.ts'
import { ok, type Route, type RouteInput, route } from '../../http/route.ts'
import { planned } from '../fleet/fleet-answers.ts'
import { sharedResponse } from '../fleet/shared-response.ts'
import { featureSchemaOf, schemaType } from './feature-schema.ts'
import { collectionsLinks, collectionView, featureLinks, geoJsonType, landingLinks, pageLinks } from './ogc-links.ts'
import { collectionParams, featureParams, featureQuery, featuresQuery, ogcQuery } from './ogc-query.ts'
import {
  collectionSchema,
  collectionsSchema,
  conformanceSchema,
  featureSchema,
  featuresSchema,
  jsonSchemaSchema,
  landingPageSchema,
} from './ogc-schemas.ts'

const tag = 'OGC API'

const hidden = { 404: { description: 'The organization does not exist, or you cannot read it.' } }
const unknownCollection = {
  404: { description: 'The collection or the organization does not exist, or you cannot read it.' },
}

const conformsTo = ['core', 'geojson'].map((part) => `http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/${part}`)

/** Larger pages are rendered in turn, because each takes megabytes until it is sent. */
const fewFeatures = 100

const sourcesOf = (input: RouteInput<unknown, unknown, unknown>): FeatureSources => ({
  ctx: input.ctx,
  fleet: input.services.fleetMaps,
  reader: requestReader(input),
})

const landingPage = route({
  method: 'get',
  path: '/ogc',
  summary: 'Get the landing page of the OGC API',
  description: 'The address of this document is what QGIS and GDAL ask for.',
  tag,
  access: 'fleet:read',
  query: ogcQuery,
  answers: { 200: { description: 'Links to the other documents.', schema: landingPageSchema }, ...planned, ...hidden },
  async handle(input) {
    await readableCollections(input.ctx, input.query.orgId)
    return ok({
      title: 'Routerfleet',
      description: 'Devices, dwells, trips and coverage of a fleet of cellular routers.',
      links: landingLinks(input),
    })
  },
})

const conformance = route({
  method: 'get',
  path: '/ogc/conformance',
  summary: 'List the conformance classes of the OGC API',
  tag,
  access: 'fleet:read',
  query: ogcQuery.pick({ orgId: true }),
  answers: { 200: { description: 'Conformance classes.', schema: conformanceSchema }, ...planned, ...hidden },
  async handle({ ctx, query }) {
    await readableCollections(ctx, query.orgId)
    return ok({ conformsTo })
  },
})

const collections = route({
  method: 'get',
  path: '/ogc/collections',
  summary: 'List the collections of features',
  description: 'Leaves out collections that the plan does not include.',
  tag,
  access: 'fleet:read',
  query: ogcQuery,
  answers: { 200: { description: 'Collections.', schema: collectionsSchema }, ...planned, ...hidden },
  async handle(input) {
    const found = await readableCollections(input.ctx, input.query.orgId)
    return ok({
      links: collectionsLinks(input),
      collections: found.map((collection) => collectionView(input, collection)),
    })
  },
})

const collection = route({
  method: 'get',
  path: '/ogc/collections/:collection',
  summary: 'Describe a collection of features',
  tag,
  access: 'fleet:read',
  params: collectionParams,
  query: ogcQuery,
  answers: { 200: { description: 'The collection.', schema: collectionSchema }, ...planned, ...unknownCollection },
  async handle(input) {
    const found = await readableCollection(input.ctx, input.query.orgId, input.params.collection)
    return ok(collectionView(input, found))
  },
})

const schema = route({
  method: 'get',
  path: '/ogc/collections/:collection/schema',
  summary: 'Get the JSON Schema of a feature',
  description: 'Names and types of the properties. Any property can be null.',
  tag,
  access: 'fleet:read',
  params: collectionParams,
  query: ogcQuery.pick({ orgId: true }),
  answers: {
    200: { description: 'The schema.', schema: jsonSchemaSchema, contentType: schemaType },
    ...planned,
    ...unknownCollection,
  },
  async handle({ ctx, params, query }) {
    const { id, title } = await readableCollection(ctx, query.orgId, params.collection)
    return { status: 200, body: featureSchemaOf(id, title), headers: { 'content-type': schemaType } }
  },
})

const items = route({
  method: 'get',
  path: '/ogc/collections/:collection/items',
  summary: 'List features',
  description:
    'Returns GeoJSON (RFC 7946). Follow the link `next` until a page has none. Geometries across the antimeridian are in parts.',
  tag,
  access: 'fleet:read',
  params: collectionParams,
  query: featuresQuery,
  answers: {
    200: {
      description: 'A page of features.',
      schema: featuresSchema,
      contentType: geoJsonType,
    },
    ...planned,
    ...unknownCollection,
  },
  async handle(input) {
    const { params, query, ctx, http } = input
    const { after } = pageRequest(input)
    const { features, count, nextAfter, numberMatched } = await listFeatures(
      sourcesOf(input),
      params.collection,
      query,
      after,
    )
    const links = pageLinks(input, params.collection, nextCursorOf(input, nextAfter))
    const timeStamp = new Date(ctx.clock()).toISOString()
    const body = { type: 'FeatureCollection', timeStamp, numberMatched, numberReturned: count, links, features }
    const headers = { 'content-type': geoJsonType }
    if (count <= fewFeatures) return { status: 200, body, headers }
    const { pathname, search } = new URL(http.req.url)
    const shared = new Headers({ ...headers, 'Cache-Control': 'no-store', Vary: 'accept-encoding' })
    const { id, grants } = ctx.principal
    const key = ['ogc', id, ...grants.keys(), pathname, search].join(' ')
    return sharedResponse(input, 'moment', key, shared, async () => body)
  },
})

const item = route({
  method: 'get',
  path: '/ogc/collections/:collection/items/:feature',
  summary: 'Get a feature',
  description:
    'The `id` of a device is its device id, that of a coverage cell its H3 index, and that of a dead zone its lowest H3 index, which changes with its cells. The `id` of a dwell or a trip is its device id, a full stop and its beginning in milliseconds since 1970.',
  tag,
  access: 'fleet:read',
  params: featureParams,
  query: featureQuery,
  answers: {
    200: { description: 'The feature.', schema: featureSchema, contentType: geoJsonType },
    ...planned,
    404: { description: 'The feature, the collection or the organization does not exist, or you cannot read it.' },
  },
  async handle(input) {
    const { params, query } = input
    const found = await readFeature(sourcesOf(input), params.collection, { ...query, id: params.feature })
    return {
      status: 200,
      body: { ...found, links: featureLinks(input, params.collection, found.id) },
      headers: { 'content-type': geoJsonType },
    }
  },
})

export const ogcRoutes: Route[] = [landingPage, conformance, collections, collection, schema, items, item]
