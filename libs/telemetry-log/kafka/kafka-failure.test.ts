import { AuthenticationError, MultipleErrors, NetworkError, ProtocolError } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { kafkaFailure } from './kafka-failure.ts'

// test/e2e/kafka-security.cluster.test.ts has the failures that a broker can be made to cause.

test('a mechanism that the brokers do not offer is named as the cause', () => {
  const refusal = new ProtocolError('UNSUPPORTED_SASL_MECHANISM')
  const cause = new AuthenticationError('Cannot find a suitable SASL mechanism.', {
    cause: new MultipleErrors('Received response with error.', [refusal]),
  })
  const { reason, detail } = kafkaFailure(
    new MultipleErrors('Listing topics failed.', [new NetworkError('Connection to a:9092 failed.', { cause })]),
  )
  expect(reason).toBe('Kafka does not offer the SASL mechanism.')
  expect(detail).toContain('Check KAFKA_SASL_MECHANISM. (Listing topics failed. Connection to a:9092 failed.')
})

test('without a known cause, the detail has all messages and the reason has no address', () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:9092'), { code: 'ECONNREFUSED' })
  const error = new NetworkError('Connection to a:9092 failed.', { cause })
  expect(kafkaFailure(error)).toEqual({
    reason: 'Kafka does not respond as expected.',
    detail: 'Connection to a:9092 failed. connect ECONNREFUSED 10.0.0.1:9092',
  })
  expect(kafkaFailure('gone').detail).toBe('gone')
})
