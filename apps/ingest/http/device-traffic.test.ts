import { expect, test } from 'vitest'
import { createDeviceTraffic } from './device-traffic.ts'

const limits = { requestsPerMinute: 120, burst: 240 }

function admitted(count: number) {
  const traffic = createDeviceTraffic(limits)
  for (let index = 0; index < count; index++) traffic.admit('a', 0)
  return traffic
}

const isRefused = (call: () => void): boolean => {
  try {
    call()
    return false
  } catch {
    return true
  }
}

test('rejects every second of the requests admitted together that count as two', () => {
  const traffic = admitted(240)
  const refused = Array.from({ length: 240 }, () => isRefused(() => traffic.charge('a', { counted: 1, more: 1 }, 0)))
  expect(refused.filter(Boolean)).toHaveLength(120)
  expect(isRefused(() => traffic.admit('a', 0))).toBe(true)
})

test('a request is not rejected for its own size, and its debt delays the next one', () => {
  const traffic = admitted(240)
  traffic.charge('a', { counted: 1, more: 1 }, 0)
  traffic.charge('a', { counted: 2, more: 10 }, 0)
  expect(isRefused(() => traffic.charge('a', { counted: 1, more: 0 }, 0))).toBe(true)
  // 12 requests of debt, one of it given back by the one refused.
  expect(isRefused(() => traffic.admit('a', 5_400))).toBe(true)
  expect(isRefused(() => traffic.admit('a', 5_600))).toBe(false)
})

test('a charge for a request admitted earlier does not refill the same time twice', () => {
  const traffic = admitted(240)
  traffic.admit('a', 1_000)
  traffic.charge('a', { counted: 1, more: 0 }, 0)
  traffic.admit('a', 1_000)
  expect(isRefused(() => traffic.admit('a', 1_000))).toBe(true)
})
