import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { startChatReceiver } from '#test/chat-receiver'
import { chooseAction, openView, phone, screens, tooSmallToTouch } from './screens.ts'
import type { BrowserSession } from './session.ts'

const run = promisify(execFile)
const minute = 60_000

/** Messages that the product sent. */
type Mails = () => readonly { to: string[]; subject: string; raw: string }[]

const rowsOf = (page: Page, table: string) => page.getByRole('table', { name: table }).locator('tbody tr')
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true })

/** Presses a button that downloads a file. Returns its lines, without their ends. */
async function downloaded(page: Page, name: string): Promise<string[]> {
  const downloading = page.waitForEvent('download')
  await button(page, name).click()
  return (await readFile(await (await downloading).path(), 'utf8')).trimEnd().split('\r\n')
}

/**
 * Tasks that an operator does without help on a desk and on a phone, with nothing but what is visible. The API only prepares
 * data. None draws a map.
 */
export function testOperatorTasks({ product, read }: BrowserSession, mails: Mails): void {
  const post = <Answer>(path: string, body: unknown, key = product().adminKey) =>
    product().call<Answer>('POST', path, body, key)

  /** Creates an organization, and a key of its administrator. */
  async function newOrganization(name: string) {
    const { id } = await post<{ id: string }>('/orgs', { name, plan: 'enterprise' })
    const { key } = await post<{ key: string }>(`/orgs/${id}/api-keys`, { name: 'Ada', role: 'admin' })
    return { id, key }
  }

  /** The link in the last message to an address. */
  async function linkTo(address: string, pattern: RegExp): Promise<string> {
    const message = () => mails().findLast(({ to }) => to.includes(address))?.raw
    await expect.poll(message, { timeout: minute }).toBeDefined()
    const text = (message() ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
    return pattern.exec(text)?.[0] ?? ''
  }

  const newDevice = (organizationId: string, name: string, tags: string[] = []) =>
    post<{ id: string }>('/devices', { organizationId, serial: name, name, model: 'RF-310', tags })

  describe.for(screens)('on a %s', ([screen, options]) => {
    const open = async (place: string, key: string | undefined): Promise<Page> =>
      (await read(place, { ...options, key })).page
    const fits = async (page: Page) => {
      if (screen === 'phone') expect(await tooSmallToTouch(page)).toEqual([])
    }

    test('imports 500 devices with errors, corrects them, exports all, and reboots 50 of them by their tag', async () => {
      const { key } = await newOrganization('Five hundred')
      const page = await open('#/overview', key)
      await openView(page, 'Devices')
      await button(page, 'Import CSV').click()
      const dialog = page.getByRole('dialog', { name: 'Import devices' })
      const lines = Array.from({ length: 500 }, (_, n) => `S-${n},Truck ${n},RF-310,${n < 50 ? 'north' : 'south'}`)
      const check = async (rows: readonly string[]) => {
        const buffer = Buffer.from(['Serial,Name,Model,Tags', ...rows].join('\r\n'))
        await dialog.getByLabel('CSV file').setInputFiles({ name: 'fleet.csv', mimeType: 'text/csv', buffer })
        await dialog.getByRole('button', { name: /^Check/ }).click()
      }
      await check(lines.with(9, 'S-9,,RF-310,north').with(19, 'S-18,Truck 19,RF-310,north'))
      await dialog.getByText('498 devices to create, 2 lines with mistakes').waitFor()
      await dialog.getByText(/^Line 11: /).waitFor()
      await dialog.getByText(/^Line 21: /).waitFor()
      await fits(page)
      await check(lines)
      await dialog.getByText('500 devices to create, 0 lines with mistakes').waitFor()
      await dialog.getByRole('button', { name: 'Import 500 devices' }).click()
      await dialog.getByText('500 created, 0 failed').waitFor()
      await dialog.getByRole('button', { name: 'Done' }).click()
      await page.getByText('500 devices').first().waitFor()
      await fits(page)
      expect(await downloaded(page, 'Export')).toHaveLength(501)

      await page.getByLabel('Tags, separated by commas').fill('north')
      await page.keyboard.press('Enter')
      await page.getByText('50 matching devices').first().waitFor()
      await page.getByRole('checkbox', { name: 'Select all devices shown' }).check()
      await fits(page)
      await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Reboot' }).click()
      const question = page.getByRole('dialog', { name: 'Reboot 50 devices?' })
      await question.getByRole('button', { name: 'Reboot' }).click()
      await page.getByRole('heading', { name: 'Jobs / Reboot' }).waitFor()
      await page.getByText('0 of 50 succeeded').waitFor()
      await fits(page)
    })

    test('lists trucks with a bad signal in a place, with the town, and saves them as CSV', async () => {
      const { id, key } = await newOrganization('Arnhem haulage')
      const area = { type: 'Circle', lat: 51.98, lon: 5.91, radiusM: 5_000 }
      await post(`/orgs/${id}/places`, { name: 'Arnhem yard', area })
      for (const [name, rsrpDbm, lat] of [
        ['Truck 1', -118, 51.98],
        ['Truck 2', -80, 51.98],
        ['Truck 3', -118, 52.5],
      ] as const) {
        const device = await newDevice(id, name, ['truck'])
        const { token } = await post<{ token: string }>(`/devices/${device.id}/token`, {})
        const samples = [
          { kind: 'location', lat, lon: 5.91, fix: '3d', accuracyM: 5 },
          { kind: 'cellular', rat: 'lte', rsrpDbm, sinrDb: 3, plmn: '20404', operatorName: 'Lowland' },
        ]
        await post('/telemetry', { samples }, token)
      }
      const weak = () => product().call<{ items: [] }>('GET', '/devices?signal=poor&signal=none', undefined, key)
      await expect.poll(async () => (await weak()).items.length).toBe(2)
      const page = await open('#/overview', key)
      await openView(page, 'Devices')
      await page.getByRole('combobox', { name: 'Signal', exact: true }).selectOption({ label: 'Bad signal' })
      await expect.poll(() => rowsOf(page, 'Devices').count()).toBe(2)
      await page.getByText('More filters').click()
      await page.getByRole('combobox', { name: 'Place', exact: true }).selectOption({ label: 'Arnhem yard' })
      await page.getByText('More filters').click()
      await expect.poll(() => rowsOf(page, 'Devices').allTextContents()).toEqual([expect.stringContaining('Truck 1')])
      await fits(page)
      const [head = '', ...lines] = await downloaded(page, 'Export')
      expect(lines).toHaveLength(1)
      const cells = Object.fromEntries(head.split(',').map((name, at) => [name, lines[0]?.split(',')[at]]))
      expect(cells).toMatchObject({ name: 'Truck 1', rsrpDbm: '-118', operator: 'Lowland' })
      expect(lines[0]).toContain('Arnhem')
    })

    test('edits a profile, compares its versions, rolls back, and applies it', async () => {
      const { id, key } = await newOrganization('Tramways')
      await newDevice(id, 'Tram 1')
      await post(`/orgs/${id}/groups`, { name: 'Trams', smartTags: [] })
      const page = await open('#/overview', key)
      await openView(page, 'Profiles')
      await button(page, 'New profile').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill('Depot')
      await dialog.getByLabel('Wi-Fi: Network name (SSID)').fill('depot')
      await fits(page)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByRole('heading', { name: 'Profiles / Depot' }).waitFor()
      await button(page, 'Edit').click()
      await dialog.getByLabel('Wi-Fi: Network name (SSID)').fill('yard')
      await dialog.getByRole('button', { name: 'Save' }).click()
      await page.getByText('Version 2, any model').waitFor()
      const differences = page.getByRole('table', { name: 'Differences' })
      await differences.getByRole('row', { name: 'Wi-Fi: Network name (SSID) depot yard' }).waitFor()
      await fits(page)
      await button(page, 'Roll back').click()
      await page
        .getByRole('dialog', { name: 'Roll back to version 1?' })
        .getByRole('button', { name: 'Roll back' })
        .click()
      await page.getByText('Version 3, any model').waitFor()
      await page.getByRole('link', { name: 'Apply' }).click()
      await button(page, 'Devices').click()
      await page.getByLabel(/^Name, serial or model/).fill('tram')
      await page.getByRole('checkbox', { name: /^Tram 1/ }).check()
      await fits(page)
      await button(page, /^Apply .*1 device$/).click()
      const question = page.getByRole('dialog')
      await question.getByRole('button', { name: /^Apply/ }).click()
      await page.getByRole('heading', { name: 'Jobs / Apply profile' }).waitFor()
      await page.getByText('Depot, version 3').first().waitFor()
    })

    test('rotates a key, transfers a device, and deletes another', async () => {
      const [from, to] = [await newOrganization(`North ${screen}`), await newOrganization(`South ${screen}`)]
      await newDevice(from.id, 'Ferry 1')
      await newDevice(from.id, 'Ferry 2')
      await post(`/orgs/${from.id}/api-keys`, { name: 'Dashboard', role: 'viewer' })
      const page = await open(`#/overview?org=${from.id}`, product().adminKey)
      await openView(page, 'Settings')
      const settings = page.getByRole('navigation', { name: 'Settings' })
      await settings.getByRole('link', { name: 'API keys' }).click()
      await button(page, 'Rotate Dashboard').click()
      await button(page, 'Rotate').click()
      await page.getByRole('dialog').getByRole('region', { name: 'API key' }).getByText(/^flk_/).waitFor()
      await fits(page)
      await button(page, 'I have stored it').click()

      await openView(page, 'Devices')
      await page.getByRole('checkbox', { name: 'Select Ferry 1' }).check()
      const chosen = page.getByRole('region', { name: 'Selected devices' })
      await chosen.getByText('More actions').click()
      await fits(page)
      await page.keyboard.press('Escape')
      await chooseAction(page, 'Transfer')
      const transfer = page.getByRole('dialog', { name: 'Transfer 1 device?' })
      expect(await transfer.getByLabel(/organization/i).inputValue()).toBe('')
      await transfer.getByLabel(/organization/i).selectOption({ label: `South ${screen}` })
      await transfer.getByText('Ferry 1').waitFor()
      await transfer.getByRole('button', { name: 'Transfer 1 device' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Done' }).click()
      await expect.poll(() => rowsOf(page, 'Devices').count()).toBe(1)

      await page.getByRole('link', { name: 'Ferry 2' }).click()
      await page.getByRole('heading', { name: 'Devices / Ferry 2' }).waitFor()
      await fits(page)
      await chooseAction(page, 'Delete')
      await page.getByRole('dialog', { name: 'Delete Ferry 2?' }).getByRole('button', { name: 'Delete' }).click()
      await page.getByText('No devices yet').waitFor()
      const { items } = await product().call<{ items: { name: string }[] }>('GET', '/devices', undefined, to.key)
      expect(items.map(({ name }) => name)).toEqual(['Ferry 1'])
    })

    test('signs in by a link, invites a colleague, and connects a router', async () => {
      const { key } = await newOrganization(`Island buses ${screen}`)
      const { url } = await post<{ url: string }>('/auth/sign-in-links', undefined, key)
      const page = await open(url.slice(product().url.length + 1).replace(/#\/map/, '#/overview'), undefined)
      await openView(page, 'Settings')
      await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'People' }).click()
      await button(page, 'Invite a person').click()
      const dialog = page.getByRole('dialog', { name: 'Invite a person' })
      const address = `grace-${screen}@example.com`
      await dialog.getByLabel('E-mail address').fill(address)
      await fits(page)
      await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
      await page.getByText(`The invitation is on its way to ${address}.`).waitFor()
      const colleague = await open(await linkTo(address, /#\/invitation\S*link=\w+/), undefined)
      await colleague.getByLabel('Your name').fill('Grace Hopper')
      await fits(colleague)
      await button(colleague, 'Join').click()
      await colleague.getByRole('navigation', { name: 'Views' }).waitFor()

      await openView(page, 'Devices')
      await page.getByRole('link', { name: 'Connect a router' }).first().click()
      await page.getByLabel('Serial number').fill(`BUS-${screen}`)
      await button(page, 'Create key').click()
      await button(page, 'curl').click()
      await fits(page)
      const command = await page.getByRole('region', { name: 'Command' }).textContent()
      await run('bash', ['-c', command ?? ''])
      await page.getByRole('status').getByText(`BUS-${screen} has reported.`).waitFor()
    })
  })
  test('on a phone, sets an alert, and tests its e-mail address and its chat channel', async () => {
    const { id, key } = await newOrganization('Night shift')
    await newDevice(id, 'Van 1')
    const chat = await startChatReceiver()
    const { page } = await read('#/overview', { ...phone, key })
    await openView(page, 'Alerts')
    const tabs = page.getByRole('navigation', { name: 'Alerts' })
    await tabs.getByRole('link', { name: 'Channels' }).click()
    await button(page, 'New channel').click()
    const channel = page.getByRole('dialog', { name: 'New chat channel' })
    await channel.getByLabel('Service').selectOption({ label: 'Mattermost' })
    await channel.getByLabel('Name').fill('Drivers')
    await channel.getByLabel(/^URL/).fill(chat.url('/hooks/drivers'))
    expect(await tooSmallToTouch(page)).toEqual([])
    await channel.getByRole('button', { name: 'Create' }).click()
    await button(page, 'Send a test to Drivers').click()
    await rowsOf(page, 'Chat channels')
      .getByText(/^Sent, /)
      .waitFor()
    expect(chat.received).toMatchObject([{ path: '/hooks/drivers' }])

    await tabs.getByRole('link', { name: 'Rules', exact: true }).click()
    await button(page, 'New rule').click()
    const rule = page.getByRole('dialog', { name: 'New rule' })
    await rule.getByLabel('Name').fill('Van is silent')
    await rule.getByLabel('For at least (minutes)').fill('15')
    await rule.getByLabel(/^Send e-mail to/).fill('night@example.com')
    await rule.getByRole('checkbox', { name: /^Send .*Drivers/ }).check()
    expect(await tooSmallToTouch(page)).toEqual([])
    await rule.getByRole('button', { name: 'Save' }).click()
    await page.getByText('No report for 15 min').waitFor()
    const owner = await read(await linkTo('night@example.com', /#\/alert-mail\?link=\w+/), { ...phone, key: undefined })
    await button(owner.page, 'Receive alerts').click()
    await owner.page.getByText('night@example.com receives the alerts of').waitFor()
    await tabs.getByRole('link', { name: 'Channels' }).click()
    await button(page, 'Send a test to night@example.com').click()
    await rowsOf(page, 'E-mail addresses')
      .getByText(/^Sent, /)
      .waitFor()
    const testMail = { to: ['night@example.com'], subject: expect.stringMatching(/^Test/) }
    expect(mails()).toContainEqual(expect.objectContaining(testMail))
    expect(await tooSmallToTouch(page)).toEqual([])
    await chat.close()
  })
}
