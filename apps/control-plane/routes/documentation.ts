import { z } from 'zod'
import { renderDocs } from '../http/docs.ts'
import type { OpenApiDocument } from '../http/openapi.ts'
import { type Route, route } from '../http/route.ts'

const tag = 'Operations'

/** The contract, published by the service itself. `document` is asked at the first request and then kept. */
export function documentationRoutes(document: () => OpenApiDocument): Route[] {
  let json: OpenApiDocument | undefined
  let page: string | undefined
  const once = () => {
    json ??= document()
    return json
  }
  return [
    route({
      method: 'get',
      path: '/openapi.json',
      summary: 'This contract as OpenAPI 3.1',
      tag,
      access: 'public',
      answers: { 200: { description: 'An OpenAPI document.', schema: z.looseObject({ openapi: z.string() }) } },
      handle: async () => ({ status: 200, body: once(), headers: { 'Cache-Control': 'public, max-age=300' } }),
    }),
    route({
      method: 'get',
      path: '/docs',
      summary: 'This contract as a page',
      tag,
      access: 'public',
      answers: { 200: { description: 'A page.', schema: z.string(), contentType: 'text/html' } },
      handle: async () => {
        page ??= renderDocs(once())
        return new Response(page, {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy':
              "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
            'cache-control': 'public, max-age=300',
          },
        })
      },
    }),
  ]
}
