import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

type HttpOptions = {
  host: string
  port: number
  /** The server for the caller with this key. */
  serverFor: (key: string) => McpServer
}

const path = '/mcp'

/**
 * Serves Streamable HTTP at `/mcp`, without sessions. Each request carries the API key of its caller, so that this process holds
 * no key that others could use. Answers only requests for its own host names, which a web page cannot reach by rebinding a
 * name (DNS rebinding).
 */
export async function serveHttp({ host, port, serverFor }: HttpOptions): Promise<{ server: Server; url: string }> {
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  const hosts = [...new Set([host, '127.0.0.1', 'localhost'])].map((name) => `${nameInUrl(name)}:${bound}`)
  server.on('request', (request, response) => {
    answer(request, response, { hosts, serverFor }).catch(() => {
      if (response.headersSent) response.destroy()
      else refuse(response, 500, 'The request failed.')
    })
  })
  return { server, url: `http://${nameInUrl(host)}:${bound}${path}` }
}

const nameInUrl = (host: string): string => (host.includes(':') ? `[${host}]` : host)

type Answering = Pick<HttpOptions, 'serverFor'> & { hosts: string[] }

async function answer(request: IncomingMessage, response: ServerResponse, { hosts, serverFor }: Answering) {
  const key = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (request.url?.split('?')[0] !== path)
    return refuse(response, 404, `There is nothing here. The address is ${path}.`)
  if (key === undefined)
    return refuse(response, 401, 'Send the API key as a bearer token.', { 'WWW-Authenticate': 'Bearer' })
  if (request.method !== 'POST') return refuse(response, 405, 'Method not allowed. Allowed: POST.', { Allow: 'POST' })
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse: true,
    enableDnsRebindingProtection: true,
    allowedHosts: hosts,
    allowedOrigins: hosts.map((name) => `http://${name}`),
  })
  const server = serverFor(key)
  response.on('close', () => void server.close())
  await server.connect(transport as Parameters<typeof server.connect>[0])
  await transport.handleRequest(request, response)
}

function refuse(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }))
}
