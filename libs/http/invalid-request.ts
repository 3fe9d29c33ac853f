import type { z } from 'zod'
import { badRequest, type FieldError, type ServiceError } from '#core/errors'
import { faultSentence } from '#http/fault-sentences'

/** Options of a parse by zod: people read the faults that are found. */
export const inSentences = { error: faultSentence }

/** How errors name a member of a body (RFC 6901). */
export const jsonPointer = (path: PropertyKey[]): string =>
  path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')

/** How errors name a parameter of a query. */
export const parameterName = (path: PropertyKey[]): string => path.join('.')

const maxFieldErrors = 50

/** Returns 400 with each fault that a schema found. `pointerOf` names the member or parameter of a fault. */
export function invalidRequest({ issues }: z.core.$ZodError, pointerOf: (path: PropertyKey[]) => string): ServiceError {
  const errors = issues
    .flatMap(issuesOfBranch)
    .slice(0, maxFieldErrors)
    .flatMap((issue) => fieldErrors(issue, pointerOf))
  const first = errors[0]
  const detail = first ? `${first.pointer || 'The body'}: ${first.detail}` : 'The request is invalid.'
  return badRequest(detail, errors, issues[0] && problemCodeOf(issues[0]))
}

/** If only one branch of a union takes values of this type, returns what it found wrong. */
function issuesOfBranch(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const [branch, other] = issue.errors.filter(([first]) => first?.code !== 'invalid_type' || first.path.length > 0)
  if (!branch || other) return [issue]
  return branch.flatMap((found) => issuesOfBranch({ ...found, path: [...issue.path, ...found.path] }))
}

/** The code of the whole problem, for a custom check that replaces `invalid_request` (`params.problemCode`). */
const problemCodeOf = (issue: z.core.$ZodIssue): string | undefined =>
  issue.code === 'custom' && typeof issue.params?.problemCode === 'string' ? issue.params.problemCode : undefined

function fieldErrors(issue: z.core.$ZodIssue, pointerOf: (path: PropertyKey[]) => string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, maxFieldErrors).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      code: 'unknown_field',
      detail: 'Unknown field or parameter.',
    }))
  }
  const customCode = issue.code === 'custom' ? (issue.params?.code ?? problemCodeOf(issue)) : undefined
  const code = typeof customCode === 'string' ? customCode : issue.code
  return [{ pointer: pointerOf(issue.path), code, detail: issue.message }]
}
