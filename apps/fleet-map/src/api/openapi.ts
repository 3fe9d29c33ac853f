type Parameter = { in: string; required?: boolean; schema?: { example?: unknown } }
type PathItem = Record<string, { parameters?: Parameter[] }>

/** The parts of an OpenAPI document that the API reference changes. */
export type OpenApiDocument = { paths: Record<string, PathItem> }

/**
 * Prepares the service's OpenAPI document for Swagger UI: requests go to `base`, which includes a path prefix, and
 * optional parameters lose their examples, because Swagger UI would send the examples as values.
 */
export function prepareDocument({ paths, ...rest }: OpenApiDocument, base: URL) {
  return {
    ...rest,
    servers: [{ url: base.href.replace(/\/$/, '') }],
    externalDocs: { description: 'OpenAPI document', url: new URL('openapi.json', base).href },
    paths: mapValues(paths, (methods) =>
      mapValues(methods, (operation) => ({
        ...operation,
        parameters: operation.parameters?.map((parameter) =>
          parameter.required ? parameter : { ...parameter, schema: { ...parameter.schema, example: undefined } },
        ),
      })),
    ),
  }
}

const mapValues = <From, To>(object: Record<string, From>, map: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]))
