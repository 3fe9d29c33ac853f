import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { kafkaSettings, kafkaVariables } from './kafka-settings.ts'

const settingsOf = (environment: Record<string, string>) =>
  kafkaSettings(parseConfig(z.object(kafkaVariables), { KAFKA_BROKERS: 'one:9092,two:9092', ...environment }))

test('a user name without a password is refused', () => {
  expect(() => settingsOf({ KAFKA_SASL_USERNAME: 'me' })).toThrow(
    'KAFKA_SASL_PASSWORD: required with KAFKA_SASL_USERNAME',
  )
})

test('a user name and a password switch on SASL', () => {
  const { brokers, sasl } = settingsOf({ KAFKA_SASL_USERNAME: 'me', KAFKA_SASL_PASSWORD: 'secret' }) ?? {}
  expect(brokers).toEqual(['one:9092', 'two:9092'])
  expect(sasl).toMatchObject({ mechanism: 'SCRAM-SHA-512', username: 'me' })
  expect(sasl?.password.reveal()).toBe('secret')
})
