import { isProtocolError } from './kafka-client.ts'

/** Why the brokers cannot be used. */
export type KafkaFailure = {
  /** For the log of this process: what is wrong, with addresses and the client's message. */
  detail: string
  /** For anyone who may ask: without addresses and names. */
  reason: string
}

const untrustedCodes: ReadonlySet<unknown> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Describes an error of the client by the cause that an operator can change. */
export function kafkaFailure(error: unknown): KafkaFailure {
  const causes = causesOf(error)
  const said = [...new Set(causes.map(({ message }) => message))].join(' ')
  const is = (code: string) => causes.some((cause) => 'code' in cause && cause.code === code)
  const says = (text: string) => causes.some(({ message }) => message.includes(text))
  if (isProtocolError(error, 'UNSUPPORTED_SASL_MECHANISM')) {
    return failure('Kafka does not offer the SASL mechanism.', 'Check KAFKA_SASL_MECHANISM.', said)
  }
  // The client's message for any failure of the first step of a login.
  if (says('Cannot find a suitable SASL mechanism')) {
    return failure(
      'Kafka ended the connection before the login.',
      'Check whether it requires TLS, with KAFKA_TLS.',
      said,
    )
  }
  if (isProtocolError(error, 'SASL_AUTHENTICATION_FAILED')) {
    return failure(
      'Kafka rejects the user name or the password.',
      'Check KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD.',
      said,
    )
  }
  if (causes.some((cause) => 'code' in cause && untrustedCodes.has(cause.code))) {
    return failure('The certificate of a Kafka broker is not trusted.', 'Check KAFKA_TLS_CA_FILE.', said)
  }
  if (says('Broker requires TLS')) return failure('Kafka requires TLS.', 'Set KAFKA_TLS=true.', said)
  if (says('TLS handshake failed') || is('ERR_SSL_WRONG_VERSION_NUMBER') || is('ERR_SSL_PACKET_LENGTH_TOO_LONG')) {
    return failure('Kafka does not accept TLS.', 'Check KAFKA_TLS and the port in KAFKA_BROKERS.', said)
  }
  return { reason: 'Kafka does not respond as expected.', detail: said }
}

const failure = (reason: string, advice: string, said: string): KafkaFailure => ({
  reason,
  detail: `${reason} ${advice} (${said})`,
})

/** Returns the error, the errors that it sums up, and their causes. */
function causesOf(error: unknown): Error[] {
  if (!(error instanceof Error)) return [new Error(String(error))]
  const within: unknown[] = error instanceof AggregateError ? error.errors : []
  const causes = [...within, ...(error.cause === undefined ? [] : [error.cause])]
  return [error, ...causes.flatMap(causesOf)]
}
