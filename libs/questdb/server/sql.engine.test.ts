import { expect, test } from 'vitest'
import { timestampParameter } from './sql.ts'

test.each([
  [Date.UTC(2026, 10, 21, 8), '2026-11-21T08:00:00.000Z'],
  [Date.parse('9999-12-31T23:59:59-23:59'), '9999-12-31T23:59:59.999Z'],
  [Number.POSITIVE_INFINITY, '9999-12-31T23:59:59.999Z'],
  [Date.parse('0001-01-01T00:00:00+23:59'), '1970-01-01T00:00:00.000Z'],
  [Number.NEGATIVE_INFINITY, '1970-01-01T00:00:00.000Z'],
])('%d ms become %s, which QuestDB can read', (ms, text) => expect(timestampParameter(ms)).toBe(text))
