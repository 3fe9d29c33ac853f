import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { beforeEach, expect, test, vi } from 'vitest'
import { version } from '#core/version'
import { signWebhook } from '#fleet/webhooks/sender'
import { startChatReceiver } from '#test/chat-receiver'
import { startSmtp, type TestSmtp } from '#test/smtp'
import { startWebhookReceiver, type WebhookReceiver } from '#test/webhook-receiver'
import { accessibilityOf, type Violation, violations } from './axe.ts'
import { focused, pressOn, typeInto } from './keyboard.ts'
import { testKeyboardTasks } from './keyboard-tasks.ts'
import { testOperatorTasks } from './operator-tasks.ts'
import { movingVehicles } from './product.ts'
import type { ReaderOptions } from './reader.ts'
import { registerVan } from './reported-van.ts'
import { chooseAction, openView, phone, tooSmallToTouch } from './screens.ts'
import { browserSession } from './session.ts'

// What an operator does with alerts, places and devices, in Chromium, with nothing but what is visible. The product sends
// e-mail to an SMTP server of the test.

const minute = 60_000
// Beside other products and browsers, some take four times as long as alone.
vi.setConfig({ testTimeout: 4 * minute })
let smtp: TestSmtp
let receiver: WebhookReceiver
const session = browserSession({
  devices: 100,
  environment: async () => {
    smtp = await startSmtp()
    receiver = await startWebhookReceiver()
    return {
      SMTP_URL: smtp.smtpUrl.reveal(),
      MAIL_FROM: 'Routerfleet <alerts@example.com>',
      ...receiver.environment,
    }
  },
  stop: async () => {
    await smtp?.close()
    await receiver?.close()
  },
})
const { product } = session
// A test that is repeated does not take the messages of its first try for its own.
beforeEach(() => {
  smtp.received.length = 0
  receiver.received.length = 0
})
testOperatorTasks(session, () => smtp.received)
testKeyboardTasks(session, () => nextRound())

const read = async (place: string, options: ReaderOptions = {}): Promise<Page> =>
  (await session.read(place, options)).page

/** Creates an organization with an operator's key. */
async function newOrganization(name: string) {
  const post = <Answer>(path: string, body: unknown) => product().call<Answer>('POST', path, body, product().adminKey)
  const { id } = await post<{ id: string }>('/orgs', { name, plan: 'enterprise' })
  const { key } = await post<{ key: string }>(`/orgs/${id}/api-keys`, { name: 'Page of the operator', role: 'admin' })
  return { id, key }
}

const rowsOf = (page: Page, table: string) => page.getByRole('table', { name: table }).locator('tbody tr')
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })

/** Waits until the worker has evaluated all rules as they are now: a round that has begun may end first. */
async function nextRound(): Promise<void> {
  const { url, adminKey } = product()
  const rounds = async () => {
    const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })
    const done = /^periodic_task_runs_total\{(?=[^}]*task="evaluate_alerts")(?=[^}]*outcome="done")[^}]*\} (\d+)/m
    return Number(done.exec(await answer.text())?.[1])
  }
  const before = await rounds()
  await expect.poll(rounds, { timeout: minute }).toBeGreaterThan(before + 1)
}

/** Opens the link of the message to an address, as its owner without access to the service, and confirms it. */
async function confirmAddress(address: string): Promise<void> {
  const messageTo = () => smtp.received.find(({ to }) => to.includes(address))?.raw
  await expect.poll(messageTo, { timeout: minute }).toBeDefined()
  const text = (messageTo() ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
  const page = await read(/#\/alert-mail\?link=\w+/.exec(text)?.[0] ?? '', { key: undefined })
  await page.getByText(`to ${address}. Do you want to receive them?`).waitFor()
  expect(page.url()).not.toContain('fla_')
  await page.getByRole('button', { name: 'Receive alerts' }).click()
  await page.getByText(`${address} receives the alerts of`).waitFor()
  expect(await violations(page)).toEqual<Violation[]>([])
}

test('sets an alert on an area, and gets its e-mail, its webhook and its place in the inbox; closes it', async () => {
  const van = await registerVan(product(), 'Port van')
  const path = `/orgs/${van.organizationId}`
  const { key } = await product().call<{ key: string }>(
    'POST',
    `${path}/api-keys`,
    { name: 'page', role: 'admin' },
    product().adminKey,
  )
  await van.reportAt([4.2, 51.9])
  const page = await read('#/settings?section=webhooks', { key })
  await page.getByText(`Version ${version}`, { exact: true }).waitFor()
  await page.getByRole('button', { name: 'New webhook' }).click()
  const webhook = dialog(page, 'New webhook')
  await webhook.getByLabel('Address').fill(receiver.url)
  await webhook.getByLabel('Description').fill('Port office')
  await webhook.getByLabel('An alert opens').check()
  await webhook.getByLabel('An alert closes').check()
  await webhook.getByRole('button', { name: 'Create' }).click()
  const secret = (await page.getByRole('region', { name: 'Signing secret' }).textContent()) ?? ''
  await page.getByRole('button', { name: 'I have stored it' }).click()

  await page.getByRole('link', { name: /^Alerts/ }).click()
  await page.getByRole('link', { name: 'Places' }).click()
  await page.getByRole('link', { name: 'New place' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Maasvlakte')
  await page.getByRole('button', { name: 'Circle' }).click()
  await page.getByLabel('Latitude').pressSequentially('51.95')
  await page.getByLabel('Longitude').pressSequentially('4.05')
  await page.getByLabel('Radius (m)').fill('800')
  await page.getByRole('button', { name: 'Create place' }).click()
  await page.getByText('No device reported its last position inside this place').waitFor()

  await page.getByRole('link', { name: /^Alerts/ }).click()
  await page.getByRole('link', { name: 'Rules', exact: true }).click()
  await page.getByRole('button', { name: 'New rule' }).click()
  const form = dialog(page, 'New rule')
  await form.getByLabel('Name').fill('Arrived at the port')
  await form.getByLabel('Condition').selectOption({ label: 'Entered a place' })
  await form.getByRole('combobox', { name: 'Place', exact: true }).selectOption({ label: 'Maasvlakte' })
  await form.getByLabel('For at least (minutes)').fill('0')
  await form.getByLabel('Severity').selectOption({ label: 'Critical' })
  await form.getByLabel(/^Send e-mail to/).fill('port@example.com')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Inside Maasvlakte').waitFor()
  await page.getByText('port@example.com: waiting for confirmation').waitFor()
  await confirmAddress('port@example.com')
  await page.getByRole('navigation', { name: 'Alerts' }).getByRole('link', { name: 'Channels' }).click()
  await page.getByRole('button', { name: 'Send a test to port@example.com' }).click()
  await rowsOf(page, 'E-mail addresses')
    .getByText(/^Sent, /)
    .waitFor()
  await page.getByRole('link', { name: 'Inbox' }).click()
  await page.getByText('No open alerts').waitFor()
  // The first round of the rule is its baseline, in which the van is outside.
  await nextRound()
  await van.reportAt([4.05, 51.95])
  await expect.poll(() => rowsOf(page, 'Alerts').count(), { timeout: minute }).toBe(1)
  await page.getByRole('link', { name: /^Alerts.*1 open, 1 critical$/ }).waitFor()
  const alertMail = () => smtp.received.find(({ subject }) => subject.includes('Arrived at the port'))
  await expect.poll(alertMail, { timeout: minute }).toMatchObject({ to: ['port@example.com'] })
  expect(alertMail()?.raw).toContain('Port van')
  const delivered = (type: string) => receiver.received.find((webhook) => webhook.type === type)
  await expect
    .poll(() => delivered('alert.opened')?.data)
    .toMatchObject({
      ruleName: 'Arrived at the port',
      severity: 'critical',
      deviceName: 'Port van',
    })
  const { signature, ...opened } = delivered('alert.opened') ?? { id: '', timestampS: 0, body: '', signature: '' }
  expect(signature).toBe(signWebhook(opened, secret))

  await page.locator('summary', { hasText: 'More actions for Entered a place, Port van' }).click()
  await page.getByRole('button', { name: 'Note', exact: true }).click()
  const notes = dialog(page, 'Port van: assignee and comment')
  await notes.getByLabel(/^Comment/).fill('Called the driver')
  await notes.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Called the driver').filter({ visible: true }).waitFor()
  await page.getByRole('button', { name: 'Acknowledge', exact: true }).click()
  await page.getByText('No open alerts').waitFor()
  await page.getByRole('button', { name: /^Acknowledged/ }).click()
  await expect.poll(() => rowsOf(page, 'Alerts').count()).toBe(1)
  await page.getByRole('link', { name: 'Port van' }).waitFor()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await page.getByRole('button', { name: /^Closed/ }).click()
  await page.getByText('Closed manually').filter({ visible: true }).waitFor()
  await page.getByRole('link', { name: 'Settings' }).click()
  await page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('link', { name: 'Port office' }).click()
  const deliveries = rowsOf(page, 'Deliveries')
  await deliveries.filter({ hasText: 'alert.closed' }).getByText('Delivered').waitFor()
  await deliveries.filter({ hasText: 'alert.opened' }).getByText('Delivered').waitFor()
  expect(delivered('alert.closed')?.data).toMatchObject({ closeReason: 'closed_by_user' })
})

test('sees 30 open alerts everywhere, acknowledges them together, also on a phone, closes them there, and tests a chat channel', async () => {
  const van = await registerVan(product(), 'Storm van')
  const path = `/orgs/${van.organizationId}`
  const post = <Answer>(to: string, body: unknown) =>
    product().call<Answer>('POST', `${path}${to}`, body, product().adminKey)
  const { key } = await post<{ key: string }>('/api-keys', { name: 'page', role: 'admin' })
  const area = { type: 'Circle', lat: 51.95, lon: 4.05, radiusM: 800 }
  const { id: placeId } = await post<{ id: string }>('/places', { name: 'Pier', area })
  const condition = { kind: 'entered_place', placeId, forMinutes: 0 }
  for (const severity of ['critical', ...Array.from({ length: 29 }, () => 'warning')])
    await post('/alert-rules', { name: severity, severity, condition })
  await van.reportAt([4.2, 51.9])
  await nextRound()
  await van.reportAt([4.05, 51.95])

  const page = await read('#/overview', { key })
  await page.getByRole('link', { name: /^Alerts.*30 open, 1 critical$/ }).waitFor()
  const banner = page.getByRole('region', { name: 'Open alerts' })
  await banner.getByText('30 open alerts, 1 critical').waitFor()
  await banner.getByRole('link', { name: 'Storm van' }).click()
  await page.getByRole('heading', { name: /Storm van/ }).waitFor()
  await banner.getByText('30 open alerts, 1 critical').waitFor()
  expect(await violations(page)).toEqual<Violation[]>([])
  await banner.getByRole('link', { name: 'Show in the inbox' }).click()

  await expect.poll(() => rowsOf(page, 'Alerts').count()).toBe(30)
  await page.getByLabel('Select all alerts shown').check()
  await page.getByRole('button', { name: 'Acknowledge selected' }).click()
  const acknowledge = dialog(page, 'Acknowledge 30 alerts?')
  await acknowledge.getByLabel(/^Who takes care/).fill('Ada Byron')
  await acknowledge.getByLabel(/^Comment/).fill('The storm')
  await acknowledge.getByRole('button', { name: 'Acknowledge 30 alerts' }).click()
  await page.getByText('30 alerts acknowledged.').waitFor()
  await page.getByRole('button', { name: /^Acknowledged \(30\)/ }).click()
  await expect.poll(() => rowsOf(page, 'Alerts').filter({ hasText: 'Ada Byron' }).count()).toBe(30)
  expect(await violations(page)).toEqual<Violation[]>([])

  // The van leaves and comes back: 30 other alerts.
  await van.reportAt([4.2, 51.9])
  await nextRound()
  await van.reportAt([4.05, 51.95])
  const onPhone = await read('#/overview', { key, ...phone })
  await openView(onPhone, 'Alerts')
  await expect.poll(() => rowsOf(onPhone, 'Alerts').count(), { timeout: minute }).toBe(30)
  expect(await rowsOf(onPhone, 'Alerts').getByText('Critical').filter({ visible: true }).count()).toBe(1)
  await onPhone.getByLabel('Select all alerts shown').check()
  expect(await tooSmallToTouch(onPhone)).toEqual([])
  await onPhone.getByRole('button', { name: 'Acknowledge selected' }).click()
  await dialog(onPhone, 'Acknowledge 30 alerts?').getByRole('button', { name: 'Acknowledge 30 alerts' }).click()
  await onPhone.getByText('30 alerts acknowledged.').waitFor()
  await onPhone.getByRole('button', { name: 'Acknowledged (30)' }).click()
  await expect.poll(() => rowsOf(onPhone, 'Alerts').count()).toBe(30)
  await onPhone.getByLabel('Select all alerts shown').check()
  expect(await tooSmallToTouch(onPhone)).toEqual([])
  await onPhone.getByRole('button', { name: 'Close selected' }).click()
  await dialog(onPhone, 'Close 30 alerts?').getByRole('button', { name: 'Close 30 alerts' }).click()
  await onPhone.getByText('30 alerts closed.').waitFor()

  const chat = await startChatReceiver()
  await page.getByRole('navigation', { name: 'Alerts' }).getByRole('link', { name: 'Channels' }).click()
  await page.getByRole('button', { name: 'New channel' }).click()
  const channel = dialog(page, 'New chat channel')
  await channel.getByLabel('Service').selectOption({ label: 'Mattermost' })
  await channel.getByLabel('Name').fill('Night shift')
  await channel.getByLabel(/^URL/).fill(chat.url('/hooks/secret'))
  await channel.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Send a test to Night shift' }).click()
  await rowsOf(page, 'Chat channels')
    .getByText(/^Sent, /)
    .waitFor()
  expect(chat.received).toMatchObject([{ path: '/hooks/secret', body: { attachments: [{}] } }])
  expect(await violations(page)).toEqual<Violation[]>([])
  expect(await page.content()).not.toContain('hooks/secret')
  await chat.close()
})

test('creates a rule of every kind, edits one, shows a conflict, disables and deletes it', async () => {
  const { id, key } = await newOrganization('Rules')
  const area = { type: 'Circle', lat: 51, lon: 4, radiusM: 500 }
  await product().call('POST', `/orgs/${id}/places`, { name: 'Depot', area }, key)
  const page = await read('#/alerts?tab=rules', { key, expectedStatuses: [412] })
  const kinds: [label: string, fields: Record<string, string>, text: string][] = [
    ['No report', { 'For at least (minutes)': '45' }, 'No report for 45 min'],
    ['No GPS position', {}, 'No GPS position for 30 min'],
    ['Weak signal', { 'RSRP below': '-110' }, 'RSRP below −110 dBm for 10 min'],
    ['High temperature', { 'Temperature above': '80' }, 'Temperature above 80 °C for 10 min'],
    ['Failed job', {}, 'A job did not succeed'],
    ['Profile not applied', {}, 'An earlier version of the profile for 1 h 00 min'],
    ['Changed on the device', {}, 'Another configuration than was applied for 5 min'],
    ['Entered a place', {}, 'Inside Depot for 5 min'],
    ['Left a place', {}, 'Outside Depot for 5 min'],
    ['Data use', { 'More than': '2000' }, 'More than 2,000 MB per day'],
  ]
  for (const [label, fields, text] of kinds) {
    await page.getByRole('button', { name: 'New rule' }).click()
    const form = dialog(page, 'New rule')
    await form.getByLabel('Name').fill(`Rule: ${label}`)
    await form.getByLabel('Condition').selectOption({ label })
    for (const [field, value] of Object.entries(fields)) await form.getByLabel(field).fill(value)
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText(text).waitFor()
  }
  await expect.poll(() => rowsOf(page, 'Alert rules').count()).toBe(kinds.length)

  await page.getByRole('button', { name: 'Rule: Data use' }).click()
  const form = dialog(page, 'Edit Rule: Data use')
  await form.getByLabel('Name').fill('Data plan')
  await form.getByRole('checkbox', { name: 'Quiet hours' }).check()
  const { items } = await product().call<{ items: { id: string }[] }>('GET', `/orgs/${id}/alert-rules`, undefined, key)
  await product().call('PATCH', `/orgs/${id}/alert-rules/${items[0]?.id}`, { name: 'Data, changed' }, key)
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Somebody else changed this rule').waitFor()
  await form.getByRole('button', { name: 'Load the current version' }).click()
  const again = dialog(page, 'Edit Data, changed')
  await again.getByRole('checkbox', { name: 'Quiet hours' }).check()
  await again.getByLabel('From').fill('21:00')
  await again.getByRole('button', { name: 'Save' }).click()
  await page.getByText('21:00 to 06:00').waitFor()

  await page.getByRole('switch', { name: 'Data, changed is enabled' }).click()
  await expect
    .poll(async () =>
      product().call<{ enabled: boolean }>('GET', `/orgs/${id}/alert-rules/${items[0]?.id}`, undefined, key),
    )
    .toMatchObject({ enabled: false, quietHours: { from: '21:00', to: '06:00' } })
  await page
    .getByRole('row', { name: /Data, changed/ })
    .getByRole('button', { name: 'Delete' })
    .click()
  await dialog(page, 'Delete the rule Data, changed?').getByRole('button', { name: 'Delete' }).click()
  await expect.poll(() => rowsOf(page, 'Alert rules').count()).toBe(kinds.length - 1)
})

test('draws an area on the map with the mouse and sees who is in it; corrects it by its coordinates', async () => {
  const van = await registerVan(product(), 'Depot van')
  const { key } = await product().call<{ key: string }>(
    'POST',
    `/orgs/${van.organizationId}/api-keys`,
    { name: 'page', role: 'operator' },
    product().adminKey,
  )
  const page = await read('#/alerts?tab=places&place=new', { key })
  const status = () => page.getByRole('status').allTextContents()
  const corners = async () => (await page.getByLabel(/^Corners/).inputValue()).split('\n').filter(Boolean).length
  const map = page.getByRole('region', { name: /^Map,/ })
  const scale = page.locator('.maplibregl-ctrl-scale')
  await expect.poll(() => map.getAttribute('aria-label')).toBe('Map, 0 devices in view')
  await expect.poll(() => map.evaluate((canvas) => canvas.style.cursor)).toBe('crosshair')
  expect(await scale.textContent()).toMatch(/000\skm$/)
  // The wheel moves the map, but a third corner does not: the next one would be at the same position, which is ignored.
  const addInMiddle = page.getByRole('button', { name: 'Add corner at map centre' })
  await map.hover({ position: { x: 100, y: 100 } })
  for (const added of [1, 2, 3]) {
    if (added > 1) await page.mouse.wheel(0, -100)
    const addAndCount = async () => {
      await addInMiddle.click()
      await map.hover({ position: { x: 100, y: 100 } })
      return corners()
    }
    await expect.poll(addAndCount).toBe(added)
  }
  await addInMiddle.click()
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(corners).toBe(2)
  await page.reload()
  await page.getByLabel('Name', { exact: true }).fill('Depot')
  // The map shows the world until the first device of the fleet reports a position.
  await van.reportAt([10, 51])
  await expect.poll(() => scale.textContent()).toMatch(/^\d\skm$/)
  await expect.poll(() => map.getAttribute('aria-label')).toBe('Map, 1 device in view')
  const box = await map.boundingBox()
  if (!box) throw new Error('There is no map.')
  // The map shows the fleet: its only device is in the middle.
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2]
  for (const [index, [dx, dy]] of [
    [-80, -80],
    [80, -80],
    [80, 80],
    [-80, 80],
  ].entries() as ArrayIterator<[number, [number, number]]>) {
    await page.mouse.click(x + dx, y + dy)
    await expect.poll(corners).toBe(index + 1)
  }
  await page.getByRole('button', { name: 'Finish' }).click()
  expect(await status()).toContain('4 corners.')
  await page.getByRole('button', { name: 'Create place' }).click()
  const here = page.getByRole('region', { name: 'Devices in this place' })
  await here.getByRole('link', { name: 'Depot van' }).waitFor()

  await page.getByLabel(/^Corners/).fill('60.0, 20.0\n60.0, 20.1\n60.1')
  await page.getByRole('alert').getByText('Line 3 is not').waitFor()
  await page.getByLabel(/^Corners/).fill('60.0, 20.0\n60.0, 20.1\n60.1, 20.1')
  await page.getByRole('button', { name: 'Save' }).click()
  await here.getByText('No device reported its last position inside this place').waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog(page, 'Delete the place Depot?').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No places yet').waitFor()
})

test('imports 1,000 devices, corrects the lines that failed, changes tags of all of a group and exports them', async () => {
  const { id, key } = await newOrganization('Thousand')
  const page = await read('#/devices', { key })
  const lines = Array.from(
    { length: 1_000 },
    (_, index) => `TH-${index};${index === 499 ? '' : `Truck ${index}`};RF-310;truck`,
  )
  const importFile = async (text: string, update = false) => {
    await page.getByLabel('CSV file').setInputFiles({ name: 'd.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    if (update) await page.getByLabel('Update existing devices').check()
    await dialog(page, 'Import devices')
      .getByRole('button', { name: /^Check/ })
      .click()
    await dialog(page, 'Import devices')
      .getByRole('button', { name: /^Import/ })
      .click()
  }
  await page.getByRole('button', { name: 'Import CSV' }).click()
  await importFile(['serial;name;model;tags', ...lines].join('\r\n'))
  await page.getByText('999 created, 1 failed').waitFor()
  await page.getByText('Line 501: name is empty.').waitFor()
  lines[499] = 'TH-499;Truck 499;RF-310;truck'
  await importFile(['serial;name;model;tags', ...lines].join('\r\n'), true)
  await page.getByText('1 created, 999 updated, 0 failed').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByText('1,000 devices').waitFor()

  const send = <Answer>(path: string, body: unknown) => product().call<Answer>('POST', `/orgs/${id}${path}`, body, key)
  const group = await send<{ id: string }>('/groups', { name: 'Fridges', smartTags: ['truck'] })
  await page.evaluate(`location.hash = '#/devices?group=${group.id}'`)
  await page.getByRole('list', { name: 'Filtered by' }).getByText('Group Fridges').waitFor()
  await page.getByRole('checkbox', { name: 'Select all devices shown' }).check()
  await page.getByRole('button', { name: 'Select all 1,000 matching devices' }).click()
  await page.getByRole('button', { name: 'Change tags' }).click()
  const form = dialog(page, 'Change the tags of 1,000 devices')
  await form.getByText('Group Fridges', { exact: true }).waitFor()
  await form.getByLabel(/^Add tags/).fill('eu')
  await form.getByRole('button', { name: 'Change tags' }).click()
  await form.getByText('1,000 devices changed.').waitFor()
  await form.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Update firmware' }).click()
  await page.getByText('All 1,000 devices that match: Group Fridges').waitFor()
  await page.goBack()
  const tags = page.getByLabel('Tags, separated by commas')
  await tags.fill('EU')
  // The suggestions appear while the reader types, and the text stays.
  await page.locator('datalist option[value=eu]').waitFor({ state: 'attached' })
  await tags.press('Enter')
  await page.getByText('1,000 matching devices').first().waitFor()

  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  const file = await readFile(await (await downloading).path(), 'utf8')
  expect(file.trim().split('\r\n')).toHaveLength(1_001)
  await page.getByRole('button', { name: 'Import CSV' }).click()
  await importFile(file.replace('Truck 7,', 'Crane 7,'), true)
  await page.getByText('0 created, 1,000 updated, 0 failed').waitFor()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByLabel('Search by name').fill('crane')
  await page.getByRole('link', { name: 'Crane 7' }).waitFor()

  const batch = await send<{ id: string }>('/job-batches', {
    ...{ kind: 'reboot', filter: { groupId: group.id, q: 'TH-77', silentForMinutes: 1_440 } },
  })
  for (const place of ['#/jobs', `#/jobs?batch=${batch.id}`]) {
    await page.evaluate(`location.hash = '${place}'`)
    await page.getByText('All devices that match: “TH-77”, Group Fridges, No report for 24 h 00 min').waitFor()
  }
})

test('sorts devices, chooses columns, updates and reboots chosen ones; the address keeps order and columns', async () => {
  const page = await read('#/devices')
  const names = () => page.getByRole('table', { name: 'Devices' }).locator('tbody a').allTextContents()
  await page.getByText('100 devices').waitFor()
  await page.getByRole('button', { name: 'Name' }).click()
  await expect.poll(async () => (await names())[0]).toMatch(/^Ship/)
  await page.getByRole('button', { name: 'Name' }).click()
  await expect.poll(async () => (await names())[0]).toMatch(/^Van/)
  await page.getByText('Columns').click()
  await page.getByRole('checkbox', { name: 'Serial' }).uncheck()
  await page.getByRole('checkbox', { name: 'Position' }).check()
  await page.getByRole('heading', { name: 'Devices' }).click()
  await page.getByRole('checkbox', { name: 'Position' }).waitFor({ state: 'hidden' })
  await page.reload()
  await expect.poll(async () => (await names())[0]).toMatch(/^Van/)
  const headings = await page.getByRole('columnheader').allTextContents()
  expect(headings.join()).toContain('Position')
  expect(headings.join()).not.toContain('Serial')

  const [truck] = await movingVehicles(product())
  await page.getByLabel('Search by name').fill(truck?.name ?? '')
  const choice = page.getByRole('checkbox', { name: `Select ${truck?.name}` })
  await choice.check()
  await page.getByRole('button', { name: 'Update firmware' }).click()
  await page.getByText(`Selected: ${truck?.name}`).waitFor()
  await page.getByRole('button', { name: 'In stages' }).waitFor()
  await page.goBack()
  await choice.check()
  await page.getByRole('region', { name: 'Selected devices' }).getByRole('button', { name: 'Reboot' }).click()
  await dialog(page, 'Reboot 1 device?').getByRole('button', { name: 'Reboot' }).click()
  await page.getByRole('heading', { name: 'Jobs / Reboot' }).waitFor()
})

test('edits a device, reboots it and sees the job and who did what in its events; tokens, disable and delete', async () => {
  const { id, key } = await newOrganization('One device')
  const device = { organizationId: id, serial: 'ONE-1', name: 'Ferry', model: 'RF-310', tags: ['ferry'] }
  const { id: deviceId } = await product().call<{ id: string }>('POST', '/devices', device, key)
  await product().call('POST', `/orgs/${id}/groups`, { name: 'Ferries', smartTags: ['ferry'] }, key)
  const page = await read('#/devices', { key, expectedStatuses: [404, 412] })
  await page.getByRole('link', { name: 'Ferry' }).click()
  await page.getByRole('heading', { name: 'Devices / Ferry' }).waitFor()
  await page.getByRole('region', { name: 'Groups' }).getByText('by the tag ferry').waitFor()
  const events = page.getByRole('region', { name: 'Events' }).getByRole('listitem')

  await chooseAction(page, 'Edit')
  const form = dialog(page, 'Edit Ferry')
  await form.getByLabel('Name').fill('Ferry 1')
  await form.getByLabel('Model').fill('RF-500')
  await product().call('PATCH', `/devices/${deviceId}`, { tags: ['ferry', 'north'] }, key)
  await form.getByRole('button', { name: 'Save' }).click()
  await form.getByText('Somebody else changed this device').waitFor()
  await form.getByRole('button', { name: 'Load the current version' }).click()
  await expect.poll(() => form.getByLabel('Tags').inputValue()).toBe('ferry, north')
  await form.getByLabel('Name').fill('Ferry 1')
  await form.getByLabel('Notes').fill('Under the bridge.\n<b>Key 14</b>')
  await form.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'Devices / Ferry 1' }).waitFor()
  const facts = page.getByRole('region', { name: 'Facts' })
  await expect.poll(() => facts.textContent()).toContain('Under the bridge.\n<b>Key 14</b>')
  await expect.poll(() => events.first().textContent()).toContain('Device edited')
  expect(await events.first().textContent()).toContain('Page of the operator')

  await chooseAction(page, 'Reboot')
  await dialog(page, 'Reboot Ferry 1?').getByRole('button', { name: 'Reboot' }).click()
  await expect
    .poll(() => rowsOf(page, 'Jobs of this device').first().textContent())
    .toMatch(/Reboot(Queued|Dispatched)/)
  await expect.poll(() => events.allTextContents()).toContainEqual(expect.stringContaining('Reboot: queued'))
  await page.getByRole('button', { name: 'Cancel job' }).click()
  await dialog(page, 'Cancel the job Reboot?').getByRole('button', { name: 'Cancel job' }).click()
  await expect.poll(() => rowsOf(page, 'Jobs of this device').first().textContent()).toContain('Cancelled')

  const tokens = page.getByRole('region', { name: 'Tokens' })
  await tokens.getByRole('button', { name: 'Issue token' }).click()
  await dialog(page, /^Issue a token/)
    .getByRole('button', { name: 'Issue' })
    .click()
  const token = await dialog(page, 'The new token').getByLabel('Token').inputValue()
  expect(token).toMatch(/^fld_/)
  await dialog(page, 'The new token').getByRole('button', { name: 'Done' }).click()
  await tokens.getByRole('button', { name: 'Revoke' }).click()
  await dialog(page, 'Revoke this token?').getByRole('button', { name: 'Revoke' }).click()
  await tokens.getByText('This device has no token').waitFor()

  await chooseAction(page, 'Disable')
  await dialog(page, 'Disable Ferry 1?').getByRole('button', { name: 'Disable' }).click()
  await page.getByText('More actions').click()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Enable' }).waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Status', exact: true }).click()
  await expect.poll(() => events.allTextContents()).toContainEqual(expect.stringContaining('→ Disabled'))
  await chooseAction(page, 'Delete')
  await dialog(page, 'Delete Ferry 1?').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No devices yet').waitFor()
  await page.goBack()
  await page.getByText('Device not found').waitFor()
})

test('adds a device, a group, a profile, a rule and a job by keyboard alone, and never loses the focus', async () => {
  const { key } = await newOrganization('Keyboard')
  const page = await read('#/map', { key: undefined })
  const { keyboard } = page
  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const press = (target: Locator, using?: 'Enter' | 'Space') => pressOn(page, target, using)
  const type = (target: Locator, text: string) => typeInto(page, target, text)
  const fieldInFocus = () => page.evaluate<string>('document.activeElement.name')
  await expect.poll(fieldInFocus).toBe('email')
  for (let stops = 0; stops < 2; stops++) await keyboard.press('Tab')
  await expect.poll(fieldInFocus).toBe('key')
  await keyboard.type(key)
  await keyboard.press('Enter')
  await press(page.getByRole('link', { name: 'Devices', exact: true }))

  // Escape closes a dialog and returns the focus to the button that opened it. Tab does not leave an open dialog.
  await press(button('Add device'))
  const add = dialog(page, 'Add a device')
  await add.waitFor()
  await keyboard.press('Escape')
  await expect.poll(() => page.locator('dialog').count()).toBe(0)
  await expect.poll(() => focused(page)).toBe('Add device')
  await keyboard.press('Enter')
  await add.waitFor()
  for (let presses = 0; presses < 12; presses++) {
    await keyboard.press('Tab')
    expect(await page.evaluate("document.activeElement.matches('body, dialog, dialog *')")).toBe(true)
  }
  await type(add.getByLabel('Serial'), 'KEY-1')
  await type(add.getByLabel('Name'), 'Ferry 1')
  await type(add.getByLabel('Model'), 'RF-310')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Devices / Ferry 1' }).waitFor()
  await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('content')

  await press(page.getByRole('link', { name: 'Groups', exact: true }))
  await press(button('New group'))
  await type(page.getByRole('dialog').getByLabel('Name'), 'Ferries')
  await keyboard.press('Enter')
  await press(button('Add devices'))
  await type(page.getByLabel(/^Name, serial or model/), 'ferry')
  await press(page.getByRole('checkbox', { name: /^Ferry 1/ }), 'Space')
  await press(button('Add 1 device'))
  await page.getByText('1 device, 1 added manually').waitFor()

  await press(page.getByRole('link', { name: 'Profiles', exact: true }))
  await press(button('New profile'))
  await type(page.getByRole('dialog').getByLabel('Name', { exact: true }), 'Depot')
  await keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Profiles / Depot' }).waitFor()

  await press(page.getByRole('link', { name: /^Alerts/ }))
  await press(page.getByRole('link', { name: 'Rules', exact: true }))
  await press(button('New rule'))
  await type(dialog(page, 'New rule').getByLabel('Name'), 'Silent ferries')
  await keyboard.press('Enter')
  await page.getByRole('row', { name: /Silent ferries/ }).waitFor()
  await press(page.getByRole('row', { name: /Silent ferries/ }).getByRole('button', { name: 'Delete' }))
  await press(dialog(page, /^Delete the rule/).getByRole('button', { name: 'Delete' }))
  await page.getByText('No rules yet').waitFor()
  await expect.poll(() => focused(page)).not.toBe('')

  await press(page.getByRole('link', { name: 'Jobs', exact: true }))
  await press(page.getByRole('link', { name: 'New job' }))
  await page.getByLabel('Kind').focus()
  await keyboard.type('Reboot')
  // The groups are read while the form appears.
  await page.getByLabel('Group').getByRole('option').nth(1).waitFor({ state: 'attached' })
  await page.getByLabel('Group').focus()
  await keyboard.press('ArrowDown')
  await press(button('Reboot: 1 device'))
  await press(dialog(page, 'Reboot 1 device?').getByRole('button', { name: 'Reboot' }))
  await page.getByRole('heading', { name: 'Jobs / Reboot' }).waitFor()
  await expect.poll(() => page.evaluate<string>('document.activeElement.id')).toBe('content')
})

test('the search has what was typed while it opened', async () => {
  const page = await read('#/help')
  let load = () => {}
  const wanted = new Promise<void>((resolve) => {
    load = resolve
  })
  await page.route(/\/assets\/search-[^/]*\.js/, async (route) => {
    await wanted
    await route.continue()
  })
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('truck')
  load()
  await expect.poll(() => page.getByRole('searchbox', { name: 'Search', exact: true }).inputValue()).toBe('truck')
  await page.keyboard.type(' 001')
  await page
    .getByRole('list', { name: 'Found' })
    .getByText(/^Truck 001/)
    .waitFor()
})

test('has no serious accessibility violation in either theme', { timeout: 4 * 60_000 }, async () => {
  const [truck] = await movingVehicles(product())
  const page = await read('#/devices')
  const { look, found } = accessibilityOf(page)
  const go = (place: string) => page.evaluate(`location.hash = ${JSON.stringify(place)}`)
  await page.getByRole('checkbox', { name: 'Select all devices shown' }).check()
  await look('devices', '[aria-label="Selected devices"]')
  await page.getByRole('button', { name: 'Change tags' }).click()
  await look('tags', 'dialog')
  await page.keyboard.press('Escape')
  await go(`#/device?id=${truck?.deviceId}`)
  await look('device', '[aria-label=Events] li')
  await chooseAction(page, 'Edit')
  await look('edit device', 'dialog')
  await page.keyboard.press('Escape')
  await go('#/alerts')
  await look('inbox', '.state, table')
  await go('#/alerts?tab=rules')
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByRole('checkbox', { name: 'Quiet hours' }).check()
  await look('rule', 'dialog')
  await page.keyboard.press('Escape')
  await go('#/alerts?tab=places')
  await look('places', '.state, table')
  await go('#/alerts?tab=places&place=new')
  await look('place', 'canvas[role=region]')
  expect(found).toEqual({})
})
