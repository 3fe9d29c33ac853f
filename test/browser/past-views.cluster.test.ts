import { expect, test, vi } from 'vitest'
import { scopesOfRole } from '#fleet/access/scopes'
import type { Product } from './product.ts'
import { browserSession } from './session.ts'

// Tests how a reader finds what happened in the past, and shares what the map shows.

const minute = 60_000
vi.setConfig({ testTimeout: 3 * minute })
const { product, read } = browserSession()

/** Creates an organization whose truck had no service for 20 minutes at noon yesterday. */
async function reportYesterday({ url, call, adminKey }: Product) {
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name: 'Haulage', plan: 'enterprise' })
  const keyOf = async (name: string, access: { role: string } | { scopes: readonly string[] }) =>
    (await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name, ...access })).key
  const device = { organizationId, serial: 'T-1', name: 'Truck 1', model: 'RF-310', tags: ['truck'] }
  const { id: deviceId } = await post<{ id: string }>('/devices', device)
  const { token } = await post<{ token: string }>(`/devices/${deviceId}/token`, {})
  const today = new Date()
  const noonMs = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1, 12).getTime()
  const samples = Array.from({ length: 120 }, (_, index) => {
    const ts = noonMs + (index - 60) * minute
    const place = { ts, lat: 57.5, lon: -4 + index / 100, accuracyM: 5 }
    const radio = index >= 60 && index < 80 ? { rat: 'none' } : { rat: 'lte', plmn: '23410', rsrpDbm: -95, sinrDb: 8 }
    return [
      { kind: 'location', ...place, fix: '3d' },
      { kind: 'cellular', ...place, fixAgeMs: 0, ...radio },
    ]
  }).flat()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/telemetry`, { method: 'POST', headers, body: JSON.stringify({ samples }) })
  expect(answer.status).toBe(202)
  return {
    anna: await keyOf('Anna', { scopes: [...scopesOfRole.viewer, 'org:write'] }),
    ben: await keyOf('Ben', { role: 'viewer' }),
  }
}

test('finds where a truck had no service yesterday, and shares the view with a colleague', async () => {
  const { anna, ben } = await reportYesterday(product())
  const { page } = await read('#/map', { key: anna, permissions: ['clipboard-read', 'clipboard-write'] })
  await page.getByLabel('Time range').selectOption('Yesterday')
  await page.getByLabel('Find a device by name').fill('truck')
  await page
    .getByRole('list', { name: 'Found devices' })
    .getByRole('button', { name: /^Truck 1/ })
    .click()
  await page.getByRole('heading', { name: /^Last signal, \d+ [hd] ago$/ }).waitFor()
  const outages = page.getByRole('list', { name: 'Times without service' }).getByRole('listitem')
  await expect.poll(() => outages.count()).toBe(1)
  expect(await outages.textContent()).toContain('12:00')
  expect(await outages.textContent()).toContain('20 min')
  await outages.getByRole('button').click()
  const slider = page.getByRole('slider', { name: /^Time on the trail/ })
  await expect.poll(() => slider.getAttribute('aria-valuetext')).toContain('12:00')
  const shown = () => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.split('?')[1]))
  await expect.poll(() => Math.abs(Number(shown().lon) + 3.4)).toBeLessThan(0.01)

  await page.getByRole('button', { name: 'Save view' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save this view' })
  await dialog.getByLabel('Name').fill('Gap at noon')
  await dialog.getByLabel('Show it to everybody in the organization').check()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByLabel('Saved views').waitFor()
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByText('Link copied').waitFor()
  const link = await page.evaluate<string>('navigator.clipboard.readText()')
  // Each open map costs a core of a machine without a graphics card.
  await page.close()

  const colleague = await read('#/map', { key: ben })
  await colleague.page.getByLabel('Saved views').selectOption('Gap at noon (shared)')
  await colleague.page.getByRole('complementary', { name: 'Device Truck 1' }).waitFor()
  await colleague.page.close()
  const other = await read(link.slice(product().url.length + 1), { key: ben })
  await other.page.getByRole('complementary', { name: 'Device Truck 1' }).waitFor()
  const time = other.page.getByRole('slider', { name: /^Time on the trail/ })
  await expect.poll(() => time.getAttribute('aria-valuetext')).toContain('12:00')
})
