import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import '@fontsource-variable/inter/index.css'
import './styles/api-reference.css'
import { accessibleReferencePlugin } from './accessible-reference-plugin.ts'
import { accessHeaders, apiKey, get } from './api/client.ts'
import { type OpenApiDocument, prepareDocument } from './api/openapi.ts'
import { codeSamplesPlugin } from './code-samples-plugin.ts'

// The API reference at `/docs`: Swagger UI with the service's OpenAPI document.

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
followColorScheme()
prefersDark.addEventListener('change', followColorScheme)

// Relative addresses also work behind a path prefix.
const base = new URL('.', document.baseURI)
const address = base.href.replace(/\/$/, '')
const container = document.getElementById('reference')

type TriedRequest = { url: string; headers: Record<string, string>; credentials?: string }

/** Sends the access of the reader's tab or session with a request that the reader tries, unless it names another one. */
function withAccess(request: TriedRequest): TriedRequest {
  if (new URL(request.url, base).origin !== base.origin || request.headers.Authorization) return request
  // The service refuses changes with a cookie but without this header, which other sites cannot send.
  return { ...request, headers: { ...request.headers, 'X-Routerfleet-Page': '1', ...accessHeaders() } }
}

/** Says as whom requests are sent. */
async function showReader(): Promise<void> {
  const caller = apiKey.value === null ? (await get('/auth/session')).caller : await get('/auth/me')
  const reader = document.getElementById('reader')
  if (!reader) return
  reader.textContent = caller
    ? `Signed in as ${caller.name}. Requests that you try here use your access, and what they change is changed.`
    : 'Not signed in. Sign in to the page, or enter an API key with Authorize, to try requests.'
}
void showReader().catch(() => undefined)

try {
  const response = await fetch(new URL('openapi.json', base))
  if (!response.ok) throw new Error(`The service returned status ${response.status}.`)
  const spec = prepareDocument((await response.json()) as OpenApiDocument, base)
  SwaggerUI({
    spec,
    plugins: [codeSamplesPlugin(spec, address), accessibleReferencePlugin(address)],
    domNode: container,
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    showExtensions: true,
    defaultModelsExpandDepth: 0,
    // The key stays in memory: a reload forgets it.
    persistAuthorization: false,
    requestInterceptor: withAccess,
    // The shown command must not contain the key of the tab.
    showMutatedRequest: false,
  })
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  if (container) container.textContent = `Could not load the API reference: ${reason}`
}
