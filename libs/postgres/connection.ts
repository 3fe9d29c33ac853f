import { Socket } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { hostUrls } from '#postgres/hosts'
import { createPrimaryFinder } from '#postgres/primary'

/**
 * Returns the options with which clients and pools of node-postgres connect to `url`. If it has several hosts, which
 * node-postgres does not support, each new connection goes to the host that is the primary at that moment. Throws if the list
 * of hosts is invalid.
 */
export function connectionOptions(url: string): pg.ClientConfig {
  const [firstUrl = url, ...otherUrls] = hostUrls(url)
  if (otherUrls.length === 0) return { connectionString: url }
  const first = parseIntoClientConfig(firstUrl)
  const urls = [firstUrl, ...otherUrls]
  const findPrimary = createPrimaryFinder(urls)
  return { ...first, ssl: identityOfAny(first.ssl, urls), stream: () => socketToPrimary(findPrimary) }
}

/** A socket that ignores the address with which node-postgres opens it and connects to the primary. */
function socketToPrimary(findPrimary: () => Promise<string>): Socket {
  const socket = new Socket()
  const connect = socket.connect.bind(socket)
  const connectToPrimary = async () => {
    const { host = 'localhost', port = 5432 } = parseIntoClientConfig(await findPrimary())
    // The caller may have given up.
    if (!socket.destroyed) connect({ host, port })
  }
  socket.connect = () => {
    connectToPrimary().catch((error: Error) => socket.destroy(error))
    return socket
  }
  return socket
}

/** node-postgres compares the certificate with the name of the first host, but the primary can be any of them. */
function identityOfAny(ssl: pg.ClientConfig['ssl'], urls: readonly string[]): pg.ClientConfig['ssl'] {
  if (!ssl) return ssl
  const names = urls.map((url) => parseIntoClientConfig(url).host ?? 'localhost')
  return {
    checkServerIdentity(_: string, certificate: PeerCertificate) {
      const errors = names.map((name) => checkServerIdentity(name, certificate))
      return errors.every((error) => error !== undefined) ? errors[0] : undefined
    },
    ...(ssl === true ? {} : ssl),
  }
}
