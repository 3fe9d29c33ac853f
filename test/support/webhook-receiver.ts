import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { testTls } from './tls.ts'

type ReceivedWebhook = {
  /** The header `webhook-id`. */
  id: string
  timestampS: number
  signature: string
  /** As sent. */
  body: string
  type: string
  data: Record<string, unknown>
}

export type WebhookReceiver = {
  url: string
  received: ReceivedWebhook[]
  /** The settings with which the product delivers to this machine: its network, and the authority of its certificate. */
  environment: Record<string, string>
  close(): Promise<void>
}

/** Starts an https server on this machine that accepts every webhook. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = []
  const server = createServer(testTls, async (request, response) => {
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = request.headers
    const body = await text(request)
    received.push({
      id: String(id),
      timestampS: Number(timestamp),
      signature: String(signature),
      body,
      ...JSON.parse(body),
    })
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-receiver-'))
  const authorityFile = join(folder, 'authority.pem')
  await writeFile(authorityFile, testTls.cert)
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/alerts`,
    received,
    environment: { WEBHOOK_PRIVATE_NETWORKS: '127.0.0.0/8', NODE_EXTRA_CA_CERTS: authorityFile },
    async close() {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true })
    },
  }
}
