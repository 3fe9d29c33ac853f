import { expect, test, vi } from 'vitest'
import { browserSession } from './session.ts'

// Tests config profiles on the page: the form, conflicts, versions and the way back to one.

const minute = 60_000
vi.setConfig({ testTimeout: 2 * minute })
const { product, read } = browserSession()

async function newOrganization() {
  const { call, adminKey } = product()
  const { id } = await call<{ id: string }>('POST', '/orgs', { name: 'Ferries', plan: 'pro' }, adminKey)
  const { key } = await call<{ key: string }>(`POST`, `/orgs/${id}/api-keys`, { name: 'Anna', role: 'admin' }, adminKey)
  return { id, key }
}

test('creates a profile with the form, changes it, compares the versions, and rolls back', async () => {
  const { key } = await newOrganization()
  const { page, answers } = await read('#/profiles', { key })
  await page.getByRole('button', { name: 'New profile' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.textContent()).not.toMatch(/change-me|passphrase/)
  await dialog.getByLabel('Name', { exact: true }).fill('Depot')
  await dialog.getByLabel('Wi-Fi: Network name (SSID)').fill('depot')
  await dialog.getByLabel('Wi-Fi: Password').fill('correct horse')
  await dialog.getByLabel('Wi-Fi: Enabled').selectOption('On')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Profiles / Depot' }).waitFor()
  await expect.poll(() => page.title()).toBe('Depot · Profiles · Routerfleet')
  await page.getByText('No device runs this profile yet.').waitFor()

  await page.getByRole('button', { name: 'Edit' }).click()
  expect(await dialog.getByLabel('Wi-Fi: Password').inputValue()).toBe('')
  await dialog.getByLabel('Wi-Fi: Network name (SSID)').fill('yard')
  await dialog.getByLabel('Reports: Interval in seconds').fill('30')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Version 2, any model').waitFor()
  const differences = page.getByRole('table', { name: 'Differences' })
  await differences.getByRole('row', { name: 'wifi.ssid depot yard' }).waitFor()
  await differences.getByRole('row', { name: 'reporting.everySeconds Not set 30' }).waitFor()
  expect(await differences.getByRole('row').count()).toBe(3)

  await page.getByRole('button', { name: 'Roll back' }).click()
  await page.getByRole('dialog', { name: 'Roll back to version 1?' }).getByRole('button', { name: 'Roll back' }).click()
  await page.getByText('Version 3, any model').waitFor()
  await page.getByLabel('Compare with').selectOption('1')
  await page.getByText('The two versions have the same content.').waitFor()
  expect(await answers()).not.toContain('correct horse')
})

test('shows a conflict when somebody else changed the profile, and saves after loading it', async () => {
  const { id, key } = await newOrganization()
  const { call } = product()
  const { id: profileId } = await call<{ id: string }>(
    'POST',
    `/orgs/${id}/configs`,
    { name: 'Depot', settings: { wifi: { ssid: 'depot' } } },
    key,
  )
  const { page } = await read(`#/profiles?profile=${profileId}`, { key, expectedStatuses: [412] })
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  const ssid = dialog.getByLabel('Wi-Fi: Network name (SSID)')
  await ssid.fill('mine')
  await call('PATCH', `/orgs/${id}/configs/${profileId}`, { settings: { wifi: { ssid: 'theirs' } } }, key)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Somebody else changed this profile').waitFor()
  await dialog.getByRole('button', { name: 'Load the current version' }).click()
  await expect.poll(() => ssid.inputValue()).toBe('theirs')
  await ssid.fill('mine')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Version 3, any model').waitFor()
})
