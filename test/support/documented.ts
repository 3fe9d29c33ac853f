import assert from 'node:assert/strict'
import { documentedErrors } from '../../apps/control-plane/http/openapi-errors.ts'
import type { AnswerDoc, Route } from '../../apps/control-plane/http/route.ts'
import { problemSchema } from '../../apps/control-plane/http/schemas.ts'

type Seen = { status: number; headers: Headers; body: unknown }

/** Returns the route for a method and path. Literal segments take precedence over parameters. */
function routeOf(routes: readonly Route[], method: string, path: string): Route | undefined {
  const segments = new URL(path, 'http://any').pathname.split('/')
  return routes.find((route) => {
    const pattern = route.path.split('/')
    return (
      route.method.toUpperCase() === method &&
      pattern.length === segments.length &&
      pattern.every((part, index) => part.startsWith(':') || part === segments[index])
    )
  })
}

/**
 * Fails if a response does not match the documentation of its route: an undocumented status or media type, or a body with
 * fields that are not in its schema. All calls of all tests use this check.
 */
export function assertDocumented(routes: readonly Route[], method: string, path: string, seen: Seen): void {
  const route = routeOf(routes, method, path)
  if (!route) return
  const where = `${method} ${route.path} answered ${seen.status}`
  const answers: Record<number, AnswerDoc> = { ...documentedErrors(route), ...route.answers }
  const answer = answers[seen.status]
  assert(answer, `${where}, which is not documented`)
  if (seen.status >= 400) {
    assert.match(
      seen.headers.get('content-type') ?? '',
      /^application\/problem\+json/,
      `${where} without a problem document`,
    )
    problemSchema.parse(seen.body)
  } else if (answer.schema) {
    const type = seen.headers.get('content-type')?.split(';')[0] ?? 'no type'
    const own = [answer.contentType ?? 'application/json'].flat()
    const schema = own.includes(type) ? answer.schema : answer.alsoAs?.[type]
    assert(schema, `${where} as ${type}, which is not documented`)
    const parsed = schema.safeParse(seen.body)
    assert(parsed.success, `${where} with another body than documented: ${parsed.error?.message}`)
    // Parsing removes unknown fields, so a difference is an undocumented field.
    assert.deepEqual(parsed.data, seen.body, `${where} with undocumented fields`)
  }
}
