import type { OpenApiDocument } from '../../apps/control-plane/http/openapi.ts'
import { snakeCase } from '../../clients/python/generator/layout.ts'

type Schema = { example?: unknown; enum?: unknown[]; type?: string }
type Parameter = { name: string; in: string; required?: boolean; schema?: Schema }
type Content = Record<string, { example?: unknown }>

/** The operations that browsers follow, which have no method. */
const redirects = ['startOidcSignIn', 'finishOidcSignIn', 'startOidcSignOut']

/** Returns a program that calls every operation with its example, and prints a JSON object of the statuses. */
export function programOfCalls(document: OpenApiDocument): string {
  const calls = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods)
      .filter(({ operationId }) => !redirects.includes(operationId as string))
      .map((operation) => callOf(operation as unknown as Operation)),
  )
  const entries = (client: string) =>
    calls.map(({ name, text }) => `    ("${name}", lambda: ${client}.${text}),\n`).join('')
  return `
import asyncio
import inspect
import json
import os
from collections.abc import Callable

from routerfleet import AsyncDownload, AsyncListing, AsyncRouterfleet, Download, Listing, ProblemError, Routerfleet

fleet = Routerfleet(os.environ["ROUTERFLEET_URL"], os.environ["ROUTERFLEET_KEY"], attempts=1)
async_fleet = AsyncRouterfleet(os.environ["ROUTERFLEET_URL"], os.environ["ROUTERFLEET_KEY"], attempts=1)
calls: list[tuple[str, Callable[[], object]]] = [
${entries('fleet')}]
async_calls: list[tuple[str, Callable[[], object]]] = [
${entries('async_fleet')}]
statuses: list[tuple[str, int]] = []

for name, call in calls:
    try:
        answer = call()
        if isinstance(answer, Listing):
            answer.first_page()
        # The stream has no end.
        elif isinstance(answer, Download) and name != "stream_fleet_gps":
            answer.read()
        statuses.append((name, 200))
    except ProblemError as error:
        statuses.append((name, error.status))


async def call_all() -> None:
    for name, call in async_calls:
        try:
            answer = call()
            if isinstance(answer, AsyncListing):
                await answer.first_page()
            elif isinstance(answer, AsyncDownload) and name != "stream_fleet_gps":
                await answer.read()
            elif inspect.isawaitable(answer):
                await answer
            statuses.append((f"async {name}", 200))
        except ProblemError as error:
            statuses.append((f"async {name}", error.status))
    await async_fleet.aclose()


asyncio.run(call_all())
fleet.close()
print(json.dumps(statuses))
`
}

type Operation = { operationId: string; parameters?: Parameter[]; requestBody?: { content: Content } }

function callOf({ operationId, parameters = [], requestBody }: Operation): { name: string; text: string } {
  const name = snakeCase(operationId)
  const required = parameters.filter((parameter) => parameter.required)
  const exampleOf = ({ name: parameter, schema = {} }: Parameter) =>
    literal(schema.example ?? schema.enum?.[0] ?? (schema.type === 'integer' ? 0 : parameter))
  const path = required.filter(({ in: place }) => place === 'path').map(exampleOf)
  const query = required
    .filter(({ in: place }) => place === 'query')
    .map((parameter) => `${snakeCase(parameter.name)}=${exampleOf(parameter)}`)
  return { name, text: `${name}(${[...path, ...bodyOf(requestBody?.content ?? {}), ...query].join(', ')})` }
}

function bodyOf(content: Content): string[] {
  const all = Object.entries(content)
  const [first] = all
  if (!first) return []
  const types = all.map(([type]) => type).filter((type) => type !== 'application/json')
  const isText = typeof first[1].example === 'string'
  return [literal(first[1].example), ...(isText && types.length > 1 ? [`content_type=${literal(first[0])}`] : [])]
}

/** A JSON value as a Python literal. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, inner]) => `${JSON.stringify(key)}: ${literal(inner)}`)
    .join(', ')}}`
}
