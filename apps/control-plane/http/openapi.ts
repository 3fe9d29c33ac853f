import type { z } from 'zod'
import { version } from '#core/version'
import { deprecationMembers, deprecationText } from './deprecation.ts'
import { documentedErrors } from './openapi-errors.ts'
import { exampleOf } from './openapi-examples.ts'
import { operationIdOf, requestName, resultName } from './openapi-names.ts'
import { jsonSchema } from './openapi-schemas.ts'
import { type Tag, tagDescriptions } from './openapi-tags.ts'
import { webhooksOf } from './openapi-webhooks.ts'
import type { AnswerDoc, Route } from './route.ts'
import { problemSchema } from './schemas.ts'

type Json = Record<string, unknown>

type OpenApiOperation = {
  operationId: string
  summary: string
  description: string
  tags: Tag[]
  deprecated?: true
  'x-sunset'?: string
  security: Record<string, string[]>[]
  'x-access': string
  parameters: Json[]
  requestBody?: Json
  responses: Record<string, Json>
}

export type OpenApiDocument = {
  openapi: string
  info: Json
  servers: { url: string; description: string }[]
  tags: { name: Tag; description: string }[]
  paths: Record<string, Record<string, OpenApiOperation>>
  webhooks: Record<string, { post: Json }>
  components: { schemas: Json; securitySchemes: Json }
}

/**
 * The OpenAPI 3.1 document for a list of routes, generated from the schemas that validate requests. `baseUrl` is the public
 * address of the service.
 */
export function createOpenApi(routes: readonly Route[], baseUrl: string): OpenApiDocument {
  const url = baseUrl.replace(/\/$/, '')
  const components: Json = {}
  const paths: OpenApiDocument['paths'] = {}
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method]: operationOf(route, components) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Routerfleet',
      version,
      description:
        'Manages fleets of cellular routers and serves their telemetry. Unknown fields in bodies and unknown query parameters return 400. Objects of other organizations return 404, like objects that do not exist.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this service', url },
    },
    servers: [{ url, description: 'This service' }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    webhooks: webhooksOf(components),
    components: {
      schemas: components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'An API key `flk_…` or an access token.' },
        deviceToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A device token `fld_…`. A gateway sends an enrollment key `fle_…` with `allowGateway`, and names the device in the header `Routerfleet-Device`: `serial=…`, `imei=…` or `mac=…`.',
        },
        clientCredentials: { type: 'http', scheme: 'basic', description: 'An API key’s id and secret.' },
      },
    },
  }
}

function operationOf(route: Route, components: Json): OpenApiOperation {
  const body = route.body
    ? { schema: route.body, mediaTypes: route.bodyFormat?.mediaTypes ?? ['application/json'] }
    : route.passedBody
  const operationId = operationIdOf(route)
  return {
    operationId,
    summary: route.summary,
    description: paragraphs(route.deprecated && deprecationText(route.deprecated), route.description, accessOf(route)),
    tags: [route.tag],
    ...deprecationMembers(route.deprecated),
    security: securityOf(route),
    'x-access': route.access,
    parameters: [
      ...pathParameters(route, components),
      ...queryParameters(route, components),
      ...headerParameters(route),
    ],
    ...(body ? { requestBody: requestBodyOf(route, body, operationId, components) } : {}),
    responses: responsesOf(route, operationId, components),
  }
}

const paragraphs = (...texts: (string | undefined)[]): string => texts.filter((text) => text !== undefined).join('\n\n')

/** Who may call a route, in one sentence. */
function accessOf({ access, path }: Route): string {
  if (path === '/auth/token') return 'Requires the id and the secret of an API key.'
  if (access === 'public') return 'Requires no credentials.'
  if (access === 'device') return 'Requires a device token.'
  if (access === 'principal') return 'Requires an API key or an access token with any scope.'
  if (access === 'platform') return 'Requires the API key of a platform administrator.'
  return `Requires the scope \`${access}\`.`
}

const securityOf = ({ access, path }: Route): OpenApiOperation['security'] => {
  if (path === '/auth/token') return [{ clientCredentials: [] }, {}]
  if (access === 'public') return []
  return [access === 'device' ? { deviceToken: [] } : { bearer: [] }]
}

function pathParameters(route: Route, components: Json): Json[] {
  const described = propertiesOf(route.params, components).properties
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: described[name] ?? { type: 'string' },
  }))
}

function queryParameters(route: Route, components: Json): Json[] {
  const { properties, required } = propertiesOf(route.query ?? route.passedQuery, components)
  return Object.entries(properties).map(([name, schema]) => {
    const { description, ...rest } = schema
    const deprecated = route.deprecatedQuery?.[name]
    const text = paragraphs(deprecated && deprecationText(deprecated), description as string | undefined)
    return {
      name,
      in: 'query',
      required: required.includes(name),
      schema: rest,
      ...(text ? { description: text } : {}),
      ...deprecationMembers(deprecated),
    }
  })
}

function propertiesOf(
  schema: z.ZodType | undefined,
  components: Json,
): { properties: Record<string, Json>; required: string[] } {
  if (!schema) return { properties: {}, required: [] }
  const { properties = {}, required = [] } = jsonSchema(schema, 'input', components)
  return { properties: properties as Record<string, Json>, required: required as string[] }
}

function headerParameters(route: Route): Json[] {
  const header = (name: string, description: string) => ({
    name,
    in: 'header',
    schema: { type: 'string' },
    description,
  })
  return [
    ...(route.idempotent
      ? [
          header(
            'Idempotency-Key',
            'A repeated request with the same key returns the response of the first request. Keys are kept for 24 hours.',
          ),
        ]
      : []),
    ...(route.answers[412] ? [header('If-Match', 'The ETag you read; 412 when it has changed since.')] : []),
    ...(route.answers[304] ? [header('If-None-Match', 'The ETag you have; 304 when it is still current.')] : []),
  ]
}

function requestBodyOf(
  route: Route,
  body: { schema?: z.ZodType; mediaTypes: readonly string[] },
  operationId: string,
  components: Json,
): Json {
  const schema = body.schema ? jsonSchema(body.schema, 'input', components, () => requestName(operationId)) : {}
  const media = { schema, example: route.example?.body ?? exampleOf(schema, components) }
  const optional = body.schema?.safeParse({}).success ?? false
  return { required: !optional, content: Object.fromEntries(body.mediaTypes.map((type) => [type, media])) }
}

function responsesOf(route: Route, operationId: string, components: Json): Record<string, Json> {
  const { errorForm = { schema: problemSchema, contentType: 'application/problem+json' } } = route
  const problem = jsonSchema(errorForm.schema, 'output', components)
  const answers: Record<string, AnswerDoc> = { ...documentedErrors(route), ...route.answers }
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]) => {
      const failed = Number(status) >= 400
      const schema = answer.schema
        ? jsonSchema(answer.schema, 'output', components, (own) => resultName(operationId, own))
        : failed
          ? problem
          : undefined
      const contentType = answer.contentType ?? (failed ? errorForm.contentType : 'application/json')
      const example = failed || !schema ? {} : { example: route.example?.answer ?? exampleOf(schema, components) }
      const content = {
        ...(schema && Object.fromEntries([contentType].flat().map((type) => [type, { schema, ...example }]))),
        ...alternativesOf(answer, components),
      }
      return [
        status,
        {
          description: answer.description,
          ...(answer.headers
            ? { headers: Object.fromEntries(answer.headers.map((name) => [name, { schema: { type: 'string' } }])) }
            : {}),
          ...(Object.keys(content).length > 0 ? { content } : {}),
        },
      ]
    }),
  )
}

const alternativesOf = ({ alsoAs = {} }: AnswerDoc, components: Json): Json =>
  Object.fromEntries(
    Object.entries(alsoAs).map(([type, schema]) => [type, { schema: jsonSchema(schema, 'output', components) }]),
  )
