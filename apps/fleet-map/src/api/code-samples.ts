type Schema = { example?: unknown; enum?: unknown[]; type?: string; $ref?: string }
type Parameter = { name: string; in: string; required?: boolean; schema?: Schema }
type Media = { schema?: Schema; example?: unknown }

/** The parts of an operation of the OpenAPI document that its samples show. */
export type SampleOperation = {
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Record<string, Media> }
  responses?: Record<string, { content?: Record<string, Media> }>
  security?: Record<string, unknown>[]
}

export type SampleRequest = { method: string; path: string; operation: SampleOperation; baseUrl: string }

export const languages = ['curl', 'TypeScript', 'Python'] as const
export type Language = (typeof languages)[number]

/** A request as code in each language, with the example body and all required parameters. */
export const codeSamples = (request: SampleRequest): Record<Language, string> => ({
  curl: curl(request),
  TypeScript: typescript(request),
  Python: python(request),
})

type Body = { mediaType: string; example: unknown }

const bodyOf = ({ requestBody }: SampleOperation): Body | undefined => {
  const [mediaType, media] = Object.entries(requestBody?.content ?? {})[0] ?? []
  return mediaType === undefined ? undefined : { mediaType, example: media?.example }
}

const isJson = (mediaType: string) => mediaType.includes('json') && !mediaType.includes('ndjson')
const isForm = (mediaType: string) => mediaType === 'application/x-www-form-urlencoded'

/** Examples of the required parameters of one place, by name. */
const parametersIn = ({ parameters = [] }: SampleOperation, place: string): Record<string, string | number> =>
  Object.fromEntries(
    parameters
      .filter((parameter) => parameter.in === place && parameter.required)
      .map(({ name, schema }) => [name, exampleOf(name, schema)]),
  )

const exampleOf = (name: string, { enum: choices = [], example = choices[0], type }: Schema = {}): string | number => {
  if (typeof example === 'string' || typeof example === 'number') return example
  return type === 'integer' || type === 'number' ? 0 : name.toUpperCase()
}

function addressOf({ path, operation, baseUrl }: SampleRequest): string {
  const values = parametersIn(operation, 'path')
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? name))
  const query = new URLSearchParams(
    Object.entries(parametersIn(operation, 'query')).map(([key, value]) => [key, `${value}`]),
  )
  return `${baseUrl}${filled}${query.size > 0 ? `?${query}` : ''}`
}

type Credentials = 'none' | 'bearer' | 'basic'

function credentialsOf({ security = [] }: SampleOperation): Credentials {
  const [first] = security
  if (!first) return 'none'
  return 'clientCredentials' in first ? 'basic' : 'bearer'
}

/** A text in single quotes for a POSIX shell. */
const shellText = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function curl(request: SampleRequest): string {
  const { method, operation } = request
  const body = bodyOf(operation)
  const credentials = {
    none: [],
    bearer: ['-H "Authorization: Bearer $ROUTERFLEET_KEY"'],
    basic: ['-u "$KEY_ID:$KEY_SECRET"'],
  }[credentialsOf(operation)]
  const form =
    body && isForm(body.mediaType) && credentials.length > 0 ? ["-d 'grant_type=client_credentials'"] : undefined
  const data = body && (isJson(body.mediaType) ? JSON.stringify(body.example) : String(body.example))
  const content = body && [`-H 'Content-Type: ${body.mediaType}'`, `--data-binary ${shellText(data ?? '')}`]
  const verb = method === 'get' ? [] : [`-X ${method.toUpperCase()}`]
  return ['curl', ...verb, shellText(addressOf(request)), ...credentials, ...(form ?? content ?? [])].join(' \\\n  ')
}

function typescript({ method, path, operation, baseUrl }: SampleRequest): string {
  const body = bodyOf(operation)
  const places = { path: parametersIn(operation, 'path'), query: parametersIn(operation, 'query') }
  const params = Object.fromEntries(Object.entries(places).filter(([, values]) => Object.keys(values).length > 0))
  const isRaw = body && !isJson(body.mediaType)
  const options = {
    ...(Object.keys(params).length > 0 && { params }),
    ...(body && { body: body.example }),
    ...(isRaw && { headers: { 'Content-Type': body.mediaType } }),
    ...(!answersJson(operation) && { parseAs: 'text' }),
  }
  const argument = Object.keys(options).length > 0 ? `, ${literal(options)}` : ''
  return `import { env } from 'node:process'
import { createClient } from '@routerfleet/client'

const fleet = createClient({ baseUrl: ${literal(baseUrl)}, key: env.ROUTERFLEET_KEY ?? '' })
const answer = await fleet.${method}(${literal(path)}${argument})
console.log(answer)`
}

const answersJson = ({ responses = {} }: SampleOperation): boolean => {
  const answer = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const types = Object.keys(answer?.content ?? {})
  return types.length === 0 || types.some(isJson)
}

/** A value as a JavaScript literal: keys without quotes where possible. */
function literal(value: unknown, indent = ''): string {
  const deeper = `${indent}  `
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, indent)).join(', ')}]`
  if (typeof value !== 'object' || value === null) return String(value)
  const entries = Object.entries(value).map(([key, inner]) => {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : literal(key)
    return `${deeper}${name}: ${literal(inner, deeper)},\n`
  })
  return entries.length === 0 ? '{}' : `{\n${entries.join('')}${indent}}`
}

function python(request: SampleRequest): string {
  const { method, operation } = request
  const body = bodyOf(operation)
  const credentials = credentialsOf(operation)
  const key = '    headers={"Authorization": "Bearer " + os.environ["ROUTERFLEET_KEY"]'
  const basic = '    auth=(os.environ["KEY_ID"], os.environ["KEY_SECRET"]),'
  const isRaw = body && !isJson(body.mediaType) && !isForm(body.mediaType)
  const type = isRaw ? `"Content-Type": ${pythonLiteral(body.mediaType)}` : undefined
  const headers = { none: type && `    headers={${type}},`, bearer: `${key}${type ? `, ${type}` : ''}},`, basic }[
    credentials
  ]
  const data = isRaw ? `${pythonLiteral(body.example)}.encode()` : body && pythonLiteral(body.example)
  const name = body && (isJson(body.mediaType) ? 'json' : 'data')
  const form = credentials === 'basic' ? '    data={"grant_type": "client_credentials"},' : undefined
  const sent = form ?? (name && `    ${name}=${data},`)
  const lines = [`    ${JSON.stringify(addressOf(request))},`, headers, sent].filter((line) => line !== undefined)
  return `${credentials === 'none' ? '' : 'import os\n'}import requests

answer = requests.${method}(
${lines.join('\n')}
)
answer.raise_for_status()
print(answer.text)`
}

/** A JSON value as a Python literal. */
function pythonLiteral(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const entries = Object.entries(value as object).map(
    ([key, inner]) => `${JSON.stringify(key)}: ${pythonLiteral(inner)}`,
  )
  return `{${entries.join(', ')}}`
}
