import { expect, test } from 'vitest'
import { createConfirmations } from '../src/mcp/confirmations.ts'

const reboot = {
  key: 'flk_1',
  organizationId: 'o',
  tool: 'create_jobs',
  request: { devices: ['a'] },
  plan: { total: 1 },
}
const minuteMs = 60_000

test('a confirmation is valid once, and for ten minutes', () => {
  let nowMs = Date.parse('2026-05-04T12:30:00.000Z')
  const confirmations = createConfirmations(() => nowMs)
  const first = confirmations.issue(reboot)
  expect(first.expiresAt).toBe('2026-05-04T12:40:00.000Z')
  nowMs += 9 * minuteMs
  expect(confirmations.use(first.confirm, reboot)).toBe(true)
  expect(() => confirmations.use(first.confirm, reboot)).toThrow(/expired, was used/)
  const second = confirmations.issue(reboot)
  nowMs += 10 * minuteMs
  expect(() => confirmations.use(second.confirm, reboot)).toThrow(/expired, was used/)
})

test.for([{ key: 'flk_2' }, { organizationId: 'p' }, { tool: 'apply_profile' }, { request: { devices: ['b'] } }])(
  'a confirmation is not for %j, and remains valid for its own call',
  (other) => {
    const confirmations = createConfirmations()
    const { confirm } = confirmations.issue(reboot)
    expect(() => confirmations.use(confirm, { ...reboot, ...other })).toThrow(/other arguments/)
    expect(confirmations.use(confirm, reboot)).toBe(true)
  },
)

test('a changed plan uses the confirmation up', () => {
  const confirmations = createConfirmations()
  const { confirm } = confirmations.issue(reboot)
  expect(confirmations.use(confirm, { ...reboot, plan: { total: 2 } })).toBe(false)
  expect(() => confirmations.use(confirm, reboot)).toThrow()
})

test('a thousand confirmations are kept, the newest ones', () => {
  const confirmations = createConfirmations()
  const issued = Array.from({ length: 1_001 }, () => confirmations.issue(reboot).confirm)
  expect(() => confirmations.use(issued[0] ?? '', reboot)).toThrow()
  expect(confirmations.use(issued[1] ?? '', reboot)).toBe(true)
  expect(confirmations.use(issued[1_000] ?? '', reboot)).toBe(true)
})
