import { Agent, request } from 'node:http'

type AttackerCall = {
  url: string
  method?: string
  headers?: Record<string, string>
  json?: unknown
  body?: string | Buffer
  /** Aborts the request; the tally then counts "aborted". */
  signal?: AbortSignal
  timeoutMs?: number
}

export type AttackerAnswer = {
  status: number
  /** The code of the problem, if the response is a problem document. */
  code: string | undefined
  headers: Record<string, string | string[] | undefined>
  body: string
}

export type AttackerClient = {
  /** Sends a request and counts its response. Returns undefined without a response. */
  call(call: AttackerCall): Promise<AttackerAnswer | undefined>
  /** Counts the response to a request that was sent by other means. */
  count(answer: string, times?: number): void
  answers: Record<string, number>
  close(): void
}

/**
 * A client that counts its responses and stops when `stop` aborts. It uses its own address, so that limits per address do not
 * affect the bystander.
 */
export function openAttackerClient(
  stop: AbortSignal,
  { localAddress = attackerAddress }: { localAddress?: string | undefined } = {},
): AttackerClient {
  const agent = new Agent({ keepAlive: true })
  const answers: Record<string, number> = {}
  const count = (answer: string, times = 1) => {
    answers[answer] = (answers[answer] ?? 0) + times
  }

  function exchange(call: AttackerCall): Promise<AttackerAnswer> {
    const { url, method = 'GET', json, timeoutMs = 120_000 } = call
    const body = json === undefined ? call.body : JSON.stringify(json)
    const headers = { ...(json === undefined ? {} : { 'content-type': 'application/json' }), ...call.headers }
    const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs), ...(call.signal ? [call.signal] : [])])
    return new Promise((resolve, reject) => {
      const sent = request(url, { method, headers, agent, signal, ...(localAddress && { localAddress }) })
      sent.on('error', reject)
      sent.on('response', (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('error', reject)
        answer.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            status: answer.statusCode ?? 0,
            code: codeOf(answer.headers['content-type'], text),
            headers: answer.headers,
            body: text,
          })
        })
      })
      sent.end(body)
    })
  }

  return {
    answers,
    count,
    async call(call) {
      try {
        const answer = await exchange(call)
        count(answer.code === undefined ? String(answer.status) : `${answer.status} ${answer.code}`)
        return answer
      } catch (error) {
        count(reasonOf(error))
        return undefined
      }
    },
    close: () => agent.destroy(),
  }
}

/** On Linux, all of 127.0.0.0/8 is loopback. Elsewhere the attacker shares the address of the bystander. */
export const attackerAddress = process.platform === 'linux' ? '127.0.0.2' : undefined

function codeOf(contentType: string | undefined, text: string): string | undefined {
  if (contentType !== 'application/problem+json') return undefined
  try {
    return JSON.parse(text).code
  } catch {
    return 'cut'
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError') return 'aborted'
  if (error.name === 'TimeoutError') return 'no answer in time'
  return 'code' in error && error.code === 'ECONNREFUSED' ? 'connection refused' : 'connection closed'
}
