import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import type { Queryable } from '#postgres/pool'
import { createDeviceAccess } from './device-access.ts'

const { token } = issueToken('fld')
const row = (status: string) => ({
  token_hash: hash('sha256', token, 'buffer'),
  device_id: 'device',
  organization_id: 'organization',
  tags: [],
  status,
  expires_at: null,
  subscription_status: 'active',
  subscription_changed_at: new Date(0),
})

test('a device that is disabled during the query of its token becomes disabled', async () => {
  const answers: ((status: string) => void)[] = []
  const query = () => new Promise((resolve) => answers.push((status) => resolve({ rows: [row(status)] })))
  const access = createDeviceAccess({ db: { query } as unknown as Queryable, plans: {}, clock: Date.now })
  const authenticated = Promise.resolve(access.authenticate(`Bearer ${token}`))
  await expect.poll(() => answers.length).toBe(1)
  // The notice comes before the answer that was read before it.
  await access.refresh([{ deviceId: 'device' }])
  answers[0]?.('online')
  expect(await authenticated).toMatchObject({ disabled: false })
  await expect.poll(() => answers.length).toBe(2)
  answers[1]?.('disabled')
  await expect.poll(async () => (await access.authenticate(`Bearer ${token}`)).disabled).toBe(true)
})
