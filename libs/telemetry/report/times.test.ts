import { expect, it } from 'vitest'
import { parseNumber } from './times.ts'

it('parses decimal numbers and nothing else', () => {
  expect(['-93', ' 12.50 ', '1e3', '.5', '+7'].map(parseNumber)).toEqual([-93, 12.5, 1000, 0.5, 7])
  expect(['', '-', '0x10', '12 dB', 'NaN', 'Infinity', '1_000', true, null, {}].map(parseNumber)).toEqual(
    Array(10).fill(null),
  )
})

it('rejects a long text of digits in linear time', () => {
  const before = process.cpuUsage()
  expect(parseNumber(`${'1'.repeat(60_000)}x`)).toBeNull()
  expect(parseNumber(`1.${'1'.repeat(60_000)}x`)).toBeNull()
  // Quadratic time would be seconds. The time of the processor does not depend on what else the machine does.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500)
})
