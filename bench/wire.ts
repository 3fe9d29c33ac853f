import { Agent, type IncomingHttpHeaders, request as send } from 'node:http'

/** A response as received: still compressed, so that reading it costs the client little. */
type WireAnswer = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

export type WireClient = {
  /** Throws on anything but 2xx and 304. */
  get(path: string, headers?: Record<string, string>): Promise<WireAnswer>
  /** Sends JSON, or text as it is. Throws on anything but 2xx. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<WireAnswer>
  close(): void
}

/** A client with one keep-alive connection. `fetch` itself would take as long as a small response. */
export function openWireClient(port: number, token: string): WireClient {
  const agent = new Agent({ keepAlive: true })
  const call = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    new Promise<WireAnswer>((resolve, reject) => {
      const authorized = { authorization: `Bearer ${token}`, ...headers }
      const request = send({ host: '127.0.0.1', port, method, path, agent, headers: authorized })
      request.once('error', reject)
      request.once('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.once('error', reject)
        response.once('end', () => {
          const { statusCode: status = 0 } = response
          const bytes = Buffer.concat(chunks)
          if (status === 304 || (status >= 200 && status < 300)) resolve({ status, headers: response.headers, bytes })
          else reject(new Error(`${path} answered ${status}: ${bytes.toString().slice(0, 300)}`))
        })
      })
      request.end(body)
    })
  return {
    get: (path, headers = {}) => call('GET', path, headers),
    post: (path, body, headers = {}) =>
      call(
        'POST',
        path,
        { 'content-type': 'application/json', ...headers },
        typeof body === 'string' ? body : JSON.stringify(body),
      ),
    close: () => agent.destroy(),
  }
}
