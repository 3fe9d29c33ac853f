import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import './styles/api-reference.css'
import { type OpenApiDocument, prepareDocument } from './api/openapi.ts'
import { codeSamplesPlugin } from './code-samples-plugin.ts'

// The API reference at `/docs`: Swagger UI with the service's OpenAPI document.

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
followColorScheme()
prefersDark.addEventListener('change', followColorScheme)

// Relative addresses also work behind a path prefix.
const base = new URL('.', document.baseURI)
const container = document.getElementById('reference')

try {
  const response = await fetch(new URL('openapi.json', base))
  if (!response.ok) throw new Error(`The service returned status ${response.status}.`)
  const spec = prepareDocument((await response.json()) as OpenApiDocument, base)
  SwaggerUI({
    spec,
    plugins: [codeSamplesPlugin(spec, base.href.replace(/\/$/, ''))],
    domNode: container,
    deepLinking: true,
    docExpansion: 'list',
    filter: true,
    showExtensions: true,
    defaultModelsExpandDepth: 0,
    // The key stays in memory: a reload forgets it.
    persistAuthorization: false,
  })
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error)
  if (container) container.textContent = `Could not load the API reference: ${reason}`
}
