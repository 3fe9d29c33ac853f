import type { components } from './openapi.ts'

/** An RFC 9457 problem document, the body of every response that is not successful. */
export type Problem = components['schemas']['Problem']

/** A response that is not successful. The message is the `detail` of the problem document. */
export class ProblemError extends Error {
  override name = 'ProblemError'
  readonly status: number
  /** A word for programs, such as `not_found` or `device_quota_exceeded`. */
  readonly code: string
  /** The id of the request, for the log of the service. */
  readonly requestId: string
  /** The whole document, with the members of this kind of problem. */
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.status = problem.status
    this.code = problem.code
    this.requestId = problem.requestId
    this.problem = problem
  }
}

/** Reads the problem document of a response. A proxy in front of the service can answer with another body. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const sent: unknown = await response.json().catch(() => undefined)
  const named = typeof sent === 'object' && sent !== null ? (sent as Record<string, unknown>) : {}
  return new ProblemError({
    type: 'about:blank',
    title: response.statusText,
    detail: `The service returned status ${response.status}.`,
    code: 'unknown',
    requestId: response.headers.get('x-request-id') ?? '',
    ...named,
    status: response.status,
  })
}
