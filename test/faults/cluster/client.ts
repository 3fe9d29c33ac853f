import { setTimeout as delay } from 'node:timers/promises'

/** A failed API request: a status of 500 or more, or no response. */
export type Failure = { atMs: number; what: string }

type Answer = { status: number; body: unknown }

export type Client = {
  /** Returns undefined if there was no response. Records failures. */
  call(method: string, path: string, options?: CallOptions): Promise<Answer | undefined>
  /** Repeats a request until its status is one of `statuses`. */
  callUntil(statuses: readonly number[], method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Completed requests. */
  answers(): number
  failures(): readonly Failure[]
}

type CallOptions = { json?: unknown; headers?: Record<string, string> }

const noAnswerAfterMs = 30_000

/** Calls the one address of the cluster as a caller with this token. */
export function createClient(baseUrl: string, token: string): Client {
  const failures: Failure[] = []
  let answers = 0
  const fail = (what: string) => void failures.push({ atMs: Date.now(), what })

  async function call(method: string, path: string, { json, headers }: CallOptions = {}): Promise<Answer | undefined> {
    const request = `${method} ${path.split('?')[0]}`
    try {
      const answer = await fetch(baseUrl + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        signal: AbortSignal.timeout(noAnswerAfterMs),
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      })
      const text = await answer.text()
      answers += 1
      if (answer.status >= 500) fail(`${answer.status} ${request}`)
      return { status: answer.status, body: text.startsWith('{') ? JSON.parse(text) : undefined }
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      fail(`${cause instanceof Error ? cause.message : cause} ${request}`)
      return undefined
    }
  }

  return {
    call,
    async callUntil(statuses, method, path, options) {
      for (;;) {
        const answer = await call(method, path, options)
        if (answer && statuses.includes(answer.status)) return answer
        if (answer && answer.status < 500 && answer.status !== 429) {
          throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
        }
        await delay(300)
      }
    },
    answers: () => answers,
    failures: () => failures,
  }
}
