import { Socket } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type pg from 'pg'
import { parseIntoClientConfig } from 'pg-connection-string'
import { hostUrls } from '#postgres/hosts'
import { createPrimaryFinder } from '#postgres/primary'

/** When Postgres gives up: the wait for a lock, a statement, and the next statement of an open transaction. In ms. */
type TimeLimits = Pick<pg.ClientConfig, 'lock_timeout' | 'statement_timeout' | 'idle_in_transaction_session_timeout'>

const minuteMs = 60_000

/** Of the services. A lock that is held for longer belongs to a process that hangs or to maintenance, and callers retry. */
const serviceLimits: TimeLimits = {
  lock_timeout: 10_000,
  statement_timeout: 30_000,
  // Ends the transaction of a process that hangs or disappeared, so that its locks do not stop the others.
  idle_in_transaction_session_timeout: minuteMs,
}

/** Of a migration. Every statement queues behind one that waits for its table, so it gives up soon and tries again. */
export const migrationLimits: TimeLimits = {
  lock_timeout: 2_000,
  statement_timeout: 60 * minuteMs,
  idle_in_transaction_session_timeout: minuteMs,
}

/** Of backup and restore, which copy a whole table in one statement, and write to a disk or upload between two of them. */
export const copyLimits: TimeLimits = {
  lock_timeout: 5 * minuteMs,
  statement_timeout: 6 * 60 * minuteMs,
  idle_in_transaction_session_timeout: 60 * minuteMs,
}

/**
 * Returns the options with which clients and pools of node-postgres connect to `url`, with time limits that the query of the
 * URL can change (`?lock_timeout=5000`). If it has several hosts, which node-postgres does not support, each new connection
 * goes to the host that is the primary at that moment. Throws if the list of hosts is invalid.
 */
export function connectionOptions(url: string, limits: TimeLimits = serviceLimits): pg.ClientConfig {
  const [firstUrl = url, ...otherUrls] = hostUrls(url)
  if (otherUrls.length === 0) return { ...limits, connectionString: url }
  const first = parseIntoClientConfig(firstUrl)
  const urls = [firstUrl, ...otherUrls]
  const findPrimary = createPrimaryFinder(urls)
  return { ...limits, ...first, ssl: identityOfAny(first.ssl, urls), stream: () => socketToPrimary(findPrimary) }
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
