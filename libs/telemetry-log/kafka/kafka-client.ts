import { isIP } from 'node:net'
import type { BaseOptions } from '@platformatic/kafka'
import type { KafkaSettings } from './kafka-settings.ts'

/** A broker that does not answer must not delay a device for longer than it waits. */
const connectTimeoutMs = 2_000
const requestTimeoutMs = 5_000

/** Returns the options that all clients share. A failed operation is retried twice. */
export function clientOptions({ brokers, tls, sasl }: KafkaSettings, clientId: string): BaseOptions {
  return {
    clientId,
    bootstrapBrokers: brokers,
    connectTimeout: connectTimeoutMs,
    requestTimeout: requestTimeoutMs,
    timeout: requestTimeoutMs,
    retries: 2,
    retryDelay: 250,
    // Brokers behind a proxy are told apart by name. TLS has no names for addresses.
    ...(tls && { tls, tlsServerName: !brokers.some((broker) => isIP(hostOf(broker))) }),
    ...(sasl && {
      sasl: { mechanism: sasl.mechanism, username: sasl.username, password: sasl.password.reveal() },
    }),
  }
}

const hostOf = (broker: string): string => broker.slice(0, broker.lastIndexOf(':'))

/** Returns whether any cause of a client's error is this protocol error, for example `OFFSET_OUT_OF_RANGE`. */
export function isProtocolError(error: unknown, apiId: string): boolean {
  if (!(error instanceof Error)) return false
  if ('apiId' in error && error.apiId === apiId) return true
  const causes: unknown[] = error instanceof AggregateError ? error.errors : []
  return [...causes, error.cause].some((cause) => isProtocolError(cause, apiId))
}
