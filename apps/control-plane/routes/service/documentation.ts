import { z } from 'zod'
import type { OpenApiDocument } from '../../http/openapi.ts'
import { type Route, route } from '../../http/route.ts'

const tag = 'Operations'

/**
 * Routes that publish the API reference. Calls `createDocument` with the public address of the service on the first
 * request and keeps the document.
 */
export function documentationRoutes(createDocument: (baseUrl: string) => OpenApiDocument): Route[] {
  let document: OpenApiDocument | undefined
  return [
    route({
      method: 'get',
      path: '/openapi.json',
      operationId: 'getOpenApiDocument',
      summary: 'Get the OpenAPI 3.1 document',
      tag,
      access: 'public',
      answers: {
        200: {
          description: 'An OpenAPI document.',
          schema: z.looseObject({ openapi: z.string() }).meta({ id: 'OpenApiDocument' }),
        },
      },
      handle: async ({ services }) => {
        document ??= createDocument(services.publicBaseUrl)
        return { status: 200, body: document, headers: { 'Cache-Control': 'public, max-age=300' } }
      },
    }),
    route({
      method: 'get',
      path: '/docs',
      operationId: 'getApiReference',
      summary: 'Read this API reference as a web page',
      tag,
      access: 'public',
      answers: {
        200: { description: 'The API reference.', schema: z.string(), contentType: 'text/html' },
        302: { description: 'This installation has no web page. Redirects to the OpenAPI document.' },
      },
      // If the web page is built, it handles `/docs` before the routes; see `openPage`.
      handle: async () => new Response(null, { status: 302, headers: { Location: 'openapi.json' } }),
    }),
  ]
}
