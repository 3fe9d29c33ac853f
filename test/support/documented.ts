import assert from 'node:assert/strict'
import { documentedErrors } from '../../apps/control-plane/http/openapi-errors.ts'
import type { AnswerDoc, Route } from '../../apps/control-plane/http/route.ts'
import { problemSchema } from '../../apps/control-plane/http/schemas.ts'

type Seen = { status: number; headers: Headers; body: unknown }

/** The route that serves a method and path, with literal segments before parameters. */
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
 * Fails when an answer is not what the contract says of its route: a status or media type that is not documented, or a
 * body with fields its schema does not have. Every call of every test goes through here, so served and documented stay one.
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
    // Parsing drops what the schema does not know, so a difference is an undocumented field.
    assert.deepEqual(parsed.data, seen.body, `${where} with undocumented fields`)
  }
}
