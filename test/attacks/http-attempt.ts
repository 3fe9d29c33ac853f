import { Agent, type IncomingHttpHeaders, request } from 'node:http'

export type Attempt = {
  url: string
  method?: string
  headers?: Record<string, string>
  body?: string
  agent?: Agent
  timeoutMs: number
}

export type AttemptAnswer = { status: number; headers: IncomingHttpHeaders; body: string }

/** Runs one HTTP exchange. Rejects if it does not finish in time or the connection breaks. */
export function attempt({
  url,
  method = 'GET',
  headers = {},
  body,
  agent,
  timeoutMs,
}: Attempt): Promise<AttemptAnswer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: agent ?? new Agent(), signal: AbortSignal.timeout(timeoutMs) })
    sent.on('error', reject)
    sent.on('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(chunks).toString() })
      })
    })
    sent.end(body)
  })
}
