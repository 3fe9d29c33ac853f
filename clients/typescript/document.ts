import { createHash } from 'node:crypto'
import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'

// The OpenAPI document from which the types of the client are generated.

export const document = createOpenApi(routes, 'https://routerfleet.test')

/** A digest of the document, which the generated file names. The version and the examples do not matter for types. */
const fingerprint = createHash('sha256')
  .update(JSON.stringify({ ...document, info: {} }, (key, value) => (key === 'example' ? undefined : value)))
  .digest('hex')
  .slice(0, 16)

/** The first lines of the generated file. */
export const header = `// Generated from the OpenAPI document ${fingerprint} by \`npm run generate\`. Do not edit.\n\n`
