import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { focused, pressOn, tabTo } from './keyboard.ts'
import { registerVan } from './reported-van.ts'
import type { BrowserSession } from './session.ts'

const minute = 60_000

/**
 * Tasks that an operator does with Tab, Enter, Space, Escape and the arrow keys alone. `nextRound` waits until the rules have been
 * evaluated again.
 */
export function testKeyboardTasks({ product, read }: BrowserSession, nextRound: () => Promise<void>): void {
  const post = <Answer>(path: string, body: unknown) => product().call<Answer>('POST', path, body, product().adminKey)
  const open = async (place: string, key: string): Promise<Page> => (await read(place, { key })).page
  const rowsOf = (page: Page, table: string) => page.getByRole('table', { name: table }).locator('tbody tr')
  const button = (within: Page | Locator, name: string | RegExp) => within.getByRole('button', { name, exact: true })
  /** Opens the menu of the selected devices and goes to an action with the arrow keys. */
  async function chooseByArrows(page: Page, name: string, arrow: 'ArrowDown' | 'ArrowUp'): Promise<void> {
    await pressOn(page, page.locator('summary', { hasText: 'More actions' }))
    await button(page, name).waitFor()
    for (let presses = 0; presses < 10 && (await focused(page)) !== name; presses++) await page.keyboard.press(arrow)
    await page.keyboard.press('Enter')
  }

  test('imports, transfers and deletes devices by keyboard alone', async () => {
    const { id } = await post<{ id: string }>('/orgs', { name: 'Keyboard north', plan: 'enterprise' })
    await post('/orgs', { name: 'Keyboard south', plan: 'enterprise' })
    const page = await open(`#/devices?org=${id}`, product().adminKey)
    await pressOn(page, button(page, 'Import CSV'))
    const dialog = page.getByRole('dialog', { name: 'Import devices' })
    const choosing = page.waitForEvent('filechooser')
    await pressOn(page, dialog.getByLabel('CSV file'), 'Space')
    const buffer = Buffer.from('serial,name,model\nK-1,Key 1,RF-310\nK-2,Key 2,RF-310\nK-3,Key 3,RF-310')
    await (await choosing).setFiles({ name: 'fleet.csv', mimeType: 'text/csv', buffer })
    await pressOn(page, button(dialog, 'Check file'))
    await pressOn(page, button(dialog, 'Import 3 devices'))
    await dialog.getByText('3 created, 0 failed').waitFor()
    await pressOn(page, button(dialog, 'Done'))
    await expect.poll(() => focused(page)).toBe('Import CSV')
    await expect.poll(() => rowsOf(page, 'Devices').count()).toBe(3)

    await pressOn(page, page.getByRole('checkbox', { name: 'Select Key 1' }), 'Space')
    // Escape closes the menu, and the focus is at its button.
    await pressOn(page, page.locator('summary', { hasText: 'More actions' }))
    await button(page, 'Transfer').waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await button(page, 'Transfer').waitFor({ state: 'hidden' })
    await expect.poll(() => focused(page)).toBe('More actions')
    await chooseByArrows(page, 'Transfer', 'ArrowDown')
    const transfer = page.getByRole('dialog', { name: 'Transfer 1 device?' })
    await tabTo(page, transfer.getByLabel('To organization'))
    await page.keyboard.type('Keyboard')
    await pressOn(page, button(transfer, 'Transfer 1 device'))
    await pressOn(page, button(page.getByRole('dialog'), 'Done'))
    await expect.poll(() => rowsOf(page, 'Devices').count()).toBe(2)
    await expect.poll(() => focused(page)).not.toBe('')

    await pressOn(page, page.getByRole('checkbox', { name: 'Select all devices shown' }), 'Space')
    await chooseByArrows(page, 'Delete', 'ArrowUp')
    await pressOn(page, button(page.getByRole('dialog', { name: 'Delete 2 devices?' }), 'Delete 2 devices'))
    await pressOn(page, button(page.getByRole('dialog'), 'Done'))
    await page.getByText('No devices yet').waitFor()
  })

  test('acknowledges alerts and rolls back a profile by keyboard alone', async () => {
    const van = await registerVan(product(), 'Keyboard van')
    const path = `/orgs/${van.organizationId}`
    const { key } = await post<{ key: string }>(`${path}/api-keys`, { name: 'page', role: 'admin' })
    const area = { type: 'Circle', lat: 51.95, lon: 4.05, radiusM: 800 }
    const { id: placeId } = await post<{ id: string }>(`${path}/places`, { name: 'Quay', area })
    const condition = { kind: 'entered_place', placeId, forMinutes: 0 }
    for (const name of ['First', 'Second', 'Third']) await post(`${path}/alert-rules`, { name, condition })
    await van.reportAt([4.2, 51.9])
    const settings = (ssid: string) => ({ wifi: { ssid } })
    const profile = await post<{ id: string }>(`${path}/configs`, { name: 'Depot', settings: settings('depot') })
    const change = { settings: settings('yard') }
    await product().call('PATCH', `${path}/configs/${profile.id}`, change, product().adminKey)
    await nextRound()
    await van.reportAt([4.05, 51.95])

    const page = await open('#/profiles', key)
    await pressOn(page, page.getByRole('link', { name: 'Depot' }))
    await page.getByText('Version 2, any model').waitFor()
    await tabTo(page, page.getByLabel('Compare with'))
    await pressOn(page, button(page, 'Roll back'))
    await pressOn(page, button(page.getByRole('dialog', { name: 'Roll back to version 1?' }), 'Roll back'))
    await page.getByText('Version 3, any model').waitFor()
    await expect.poll(() => focused(page)).not.toBe('')

    await pressOn(page, page.getByRole('link', { name: /^Alerts/ }))
    await expect.poll(() => rowsOf(page, 'Alerts').count(), { timeout: minute }).toBe(3)
    // Where the van was, by its name.
    await rowsOf(page, 'Alerts').getByText('Inside Quay').first().waitFor()
    await pressOn(page, page.getByRole('checkbox', { name: 'Select all alerts shown' }), 'Space')
    await pressOn(page, button(page, 'Acknowledge selected'))
    await pressOn(page, button(page.getByRole('dialog'), 'Acknowledge 3 alerts'))
    await page.getByText('3 alerts acknowledged.').waitFor()
    await expect.poll(() => focused(page)).not.toBe('')
  })
}
