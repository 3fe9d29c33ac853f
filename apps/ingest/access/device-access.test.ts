import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import type { Queryable } from '#postgres/pool'
import { createDeviceAccess } from './device-access.ts'

const { token } = issueToken('fld')
const row = (disabled: boolean) => ({
  tokenHash: hash('sha256', token, 'buffer'),
  deviceId: 'device',
  organizationId: 'organization',
  tags: [],
  disabled,
  expiresAtMs: Number.POSITIVE_INFINITY,
  refusedFromMs: Number.POSITIVE_INFINITY,
})

test('a device that is disabled during the query of its token becomes disabled', async () => {
  const answers: ((disabled: boolean) => void)[] = []
  const query = () => new Promise((resolve) => answers.push((disabled) => resolve({ rows: [row(disabled)] })))
  const access = createDeviceAccess({ db: { query } as unknown as Queryable, plans: {}, clock: Date.now })
  const authenticated = Promise.resolve(access.authenticate(`Bearer ${token}`))
  await expect.poll(() => answers.length).toBe(1)
  // The notice comes before the answer that was read before it.
  await access.refresh([{ deviceId: 'device' }])
  answers[0]?.(false)
  expect(await authenticated).toMatchObject({ disabled: false })
  await expect.poll(() => answers.length).toBe(2)
  answers[1]?.(true)
  await expect.poll(async () => (await access.authenticate(`Bearer ${token}`)).disabled).toBe(true)
})
