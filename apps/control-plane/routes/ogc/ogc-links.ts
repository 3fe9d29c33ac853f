import type { CollectionId, ReadableCollection } from '#fleet-map/features/collections'
import type { RouteInput } from '../../http/route.ts'
import { schemaType } from './feature-schema.ts'

type Input = Pick<RouteInput<unknown, unknown, unknown>, 'services' | 'http'>

type Link = { href: string; rel: string; type: string; title?: string }

export const geoJsonType = 'application/geo+json'
const jsonType = 'application/json'
const crs84 = 'http://www.opengis.net/def/crs/OGC/1.3/CRS84'
const gregorian = 'http://www.opengis.net/def/uom/ISO-8601/0/Gregorian'

/** Parameters of the request that its links have too. */
type Kept = 'orgId' | 'datetime' | 'bbox' | 'limit' | 'cursor'

/**
 * The public address of a path of the service, with some parameters of the request. They are as the request has them, because
 * GDAL and QGIS add those of their connection to each address that does not contain them literally.
 */
function addressOf({ services, http }: Input, path: string, kept: readonly Kept[] = [], cursor?: string): string {
  const sent = new URL(http.req.url).search.slice(1).split('&')
  const parameters = sent.filter((part) => kept.some((name) => part.startsWith(`${name}=`)))
  if (cursor !== undefined) parameters.push(`cursor=${cursor}`)
  const query = parameters.length > 0 ? `?${parameters.join('&')}` : ''
  return `${services.publicBaseUrl.replace(/\/$/, '')}${path}${query}`
}

const handedOn: readonly Kept[] = ['orgId', 'datetime']
const allOfPage: readonly Kept[] = ['orgId', 'datetime', 'bbox', 'limit']
const collectionPath = (id: CollectionId): string => `/ogc/collections/${id}`

export const landingLinks = (input: Input): Link[] => [
  { rel: 'self', type: jsonType, title: 'This document', href: addressOf(input, '/ogc', handedOn) },
  {
    rel: 'service-desc',
    type: jsonType,
    title: 'The OpenAPI document',
    href: addressOf(input, '/openapi.json'),
  },
  { rel: 'service-doc', type: 'text/html', title: 'The API reference', href: addressOf(input, '/docs') },
  {
    rel: 'conformance',
    type: jsonType,
    title: 'Conformance classes',
    href: addressOf(input, '/ogc/conformance', ['orgId']),
  },
  { rel: 'data', type: jsonType, title: 'Collections', href: addressOf(input, '/ogc/collections', handedOn) },
]

export const collectionsLinks = (input: Input): Link[] => [
  { rel: 'self', type: jsonType, href: addressOf(input, '/ogc/collections', handedOn) },
]

/** A collection in a response. */
export const collectionView = (input: Input, { id, title, description, startMs }: ReadableCollection) => ({
  id,
  title,
  description,
  itemType: 'feature',
  crs: [crs84],
  extent: {
    spatial: { bbox: [[-180, -90, 180, 90]], crs: crs84 },
    temporal: { interval: [[new Date(startMs).toISOString(), null]], trs: gregorian },
  },
  links: [
    { rel: 'self', type: jsonType, href: addressOf(input, collectionPath(id), handedOn) },
    {
      // GDAL knows this spelling only.
      ...{ rel: 'describedBy', type: schemaType, title: 'The schema of a feature' },
      href: addressOf(input, `${collectionPath(id)}/schema`, ['orgId']),
    },
    { rel: 'items', type: geoJsonType, title, href: addressOf(input, `${collectionPath(id)}/items`, handedOn) },
  ],
})

/** The links of a page of features. */
export function pageLinks(input: Input, id: CollectionId, nextCursor: string | null): Link[] {
  const path = `${collectionPath(id)}/items`
  const self: Link = { rel: 'self', type: geoJsonType, href: addressOf(input, path, [...allOfPage, 'cursor']) }
  const collection: Link = {
    ...{ rel: 'collection', type: jsonType },
    href: addressOf(input, collectionPath(id), handedOn),
  }
  if (nextCursor === null) return [self, collection]
  return [self, collection, { ...self, rel: 'next', href: addressOf(input, path, allOfPage, nextCursor) }]
}

export const featureLinks = (input: Input, id: CollectionId, feature: string): Link[] => [
  {
    ...{ rel: 'self', type: geoJsonType },
    href: addressOf(input, `${collectionPath(id)}/items/${encodeURIComponent(feature)}`, handedOn),
  },
  { rel: 'collection', type: jsonType, href: addressOf(input, collectionPath(id), handedOn) },
]
