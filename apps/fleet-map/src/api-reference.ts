import SwaggerUI from 'swagger-ui-dist/swagger-ui-es-bundle.js'
import 'swagger-ui-dist/swagger-ui.css'
import './styles/api-reference.css'

// The API reference at `/docs`: Swagger UI over the service's own `/openapi.json`.

const prefersDark = matchMedia('(prefers-color-scheme: dark)')
const followColorScheme = () => document.documentElement.classList.toggle('dark-mode', prefersDark.matches)
followColorScheme()
prefersDark.addEventListener('change', followColorScheme)

SwaggerUI({
  // Relative, so that the page also works behind a path prefix.
  url: new URL('openapi.json', document.baseURI).href,
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  showExtensions: true,
  defaultModelsExpandDepth: 0,
  // The badge would send the document's address to a server of Swagger's.
  validatorUrl: null,
  // The key stays in memory: a reload forgets it.
  persistAuthorization: false,
})
