import type { Locator, Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { scopesOfRole } from '#fleet/access/scopes'
import type { Product } from './product.ts'
import { movingVehicles } from './product.ts'
import { registerVan, reportStored } from './reported-van.ts'
import { openView, phone, tooSmallToTouch } from './screens.ts'
import { browserSession } from './session.ts'

// Tests how the map answers links, keys, clicks and interruptions, and how a reader finds what happened in the past and shares it.

const minute = 60_000
vi.setConfig({ testTimeout: 3 * minute })
const { product, read } = browserSession({ devices: 100 })

const parameters = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split('?')[1])
const zoom = (page: Page) => Number(parameters(page).get('z'))

/** Creates an organization with a router at each position. Returns a key that can read them. */
async function reportPositions(positions: readonly { lat: number; lon: number }[]): Promise<string> {
  const { url, call, adminKey } = product()
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name: 'Depot', plan: 'enterprise' })
  for (const [index, position] of positions.entries()) {
    const device = { organizationId, serial: `D-${index}`, name: `Van ${index}`, model: 'RF-310' }
    const { id } = await post<{ id: string }>('/devices', device)
    const { token } = await post<{ token: string }>(`/devices/${id}/token`, {})
    const samples = [{ kind: 'location', ts: Date.now(), fix: '3d', accuracyM: 5, ...position }]
    await reportStored({ url, call, adminKey }, { deviceId: id, token }, samples)
  }
  return (await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name: 'page', role: 'viewer' })).key
}

/** Moves the pointer in a spiral from the middle of the map until it becomes a hand, and clicks there. */
async function clickNearCentre(map: Locator): Promise<void> {
  const { mouse } = map.page()
  const { x, y, width, height } = (await map.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  for (let turn = 0; turn < 40; turn += 1) {
    const [radius, angle] = [turn * 1.5, turn * 0.8]
    const [left, top] = [x + width / 2 + radius * Math.cos(angle), y + height / 2 + radius * Math.sin(angle)]
    await mouse.move(left, top)
    if ((await map.getAttribute('style'))?.includes('cursor: pointer')) return mouse.click(left, top)
  }
  throw new Error('Nothing to click in the middle of the map.')
}

test('a link that is pasted while the map is open moves it', async () => {
  const { page, seesMap } = await read('#/map?lon=8&lat=50&z=5')
  await seesMap()
  const follow = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
  await follow('#/map?lon=-3.5&lat=40.4&z=7')
  const scale = page.locator('.maplibregl-ctrl-scale')
  await expect.poll(() => scale.textContent()).toMatch(/^30\skm$/)
})

test('a map that moves to the fleet reads no tiles of the view that it leaves', async () => {
  const { page, seesMap, mapRests } = await read('#/map')
  await seesMap()
  const address = new URL('#/map', page.url()).href
  await page.goto(new URL('/favicon.svg', address).href)
  const zooms = new Set<number>()
  page.on('request', (request) => {
    const level = /\/fleet\/tiles\/(\d+)\//.exec(request.url())?.[1]
    if (level) zooms.add(Number(level))
  })
  await page.goto(address)
  await seesMap()
  await mapRests()
  expect(zooms.size).toBeGreaterThan(0)
  expect(Math.min(...zooms)).toBeGreaterThanOrEqual(Math.floor(zoom(page)))
})

test('coverage tiles that could not be read are read again soon', async () => {
  const { page, seesMap } = await read('#/groups', { expectedStatuses: [429] })
  const refused = new Set<string>()
  const answered = new Set<string>()
  await page.route(/\/fleet\/tiles\/.*coverage/, (route) => {
    const url = route.request().url()
    if (refused.has(url) || refused.size === 4) {
      answered.add(url)
      return route.continue()
    }
    refused.add(url)
    return route.fulfill({ status: 429, headers: { 'Retry-After': '1' } })
  })
  await page.evaluate("location.hash = '#/map?lon=8&lat=50&z=5'")
  await expect.poll(() => refused.size).toBe(4)
  await expect.poll(() => [...refused].filter((url) => !answered.has(url))).toEqual([])
  await seesMap()
})

test('while the service cannot say how many devices there are, the map shows no number, and then all of them', async () => {
  const { page } = await read('#/help', { expectedStatuses: [503] })
  let isDown = true
  await page.route(/\/fleet\/tiles\.json/, (route) =>
    isDown ? route.fulfill({ status: 503, headers: { 'Retry-After': '1' } }) : route.continue(),
  )
  await page.evaluate("location.hash = '#/map?lon=8&lat=50&z=5'")
  const count = page.getByRole('complementary', { name: 'Filters' }).locator('p').first()
  await page.getByText('Reconnecting').waitFor()
  expect(await count.textContent()).toContain('Loading devices')
  expect(await page.getByText('No devices').count()).toBe(0)
  isDown = false
  await expect.poll(() => count.textContent()).toMatch(/^\d+devices on the map/)
})

test('a map background that cannot be loaded is tried again until it is there', async () => {
  const { page } = await read('#/help', { expectedStatuses: [503] })
  let isDown = true
  await page.route(/\.pmtiles/, (route) => (isDown ? route.fulfill({ status: 503 }) : route.continue()))
  await page.clock.install()
  await page.evaluate("location.hash = '#/map?lon=8&lat=50&z=5'")
  const failure = page.getByText('The map background cannot be loaded.')
  await failure.waitFor()
  await page.locator('[data-background=outlines]').waitFor()
  isDown = false
  await page.clock.fastForward('01:00')
  await page.locator('[data-background=world]').waitFor()
  expect(await failure.count()).toBe(0)
})

test('an overview says once that the plan has no fleet map, and does not ask for it again', async () => {
  const { call, adminKey } = product()
  const { id } = await call<{ id: string }>('POST', '/orgs', { name: 'Small ferries', plan: 'free' }, adminKey)
  const { key } = await call<{ key: string }>('POST', `/orgs/${id}/api-keys`, { name: 'p', role: 'viewer' }, adminKey)
  const { page } = await read('#/help', { key, expectedStatuses: [403] })
  const refused: string[] = []
  let counted = 0
  page.on('response', (response) => {
    if (response.status() === 403) refused.push(response.url())
    else if (response.url().includes('/device-counts')) counted += 1
  })
  await page.clock.install()
  await page.evaluate("location.hash = '#/overview'")
  await page.getByText('Not in this plan').waitFor()
  await page.getByRole('link', { name: 'Show plan and usage' }).waitFor()
  expect(await page.getByText('Not in this plan').count()).toBe(1)
  expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
  await expect.poll(() => counted).toBeGreaterThan(0)
  const before = counted
  await page.clock.fastForward('05:00')
  await expect.poll(() => counted).toBeGreaterThan(before)
  expect(refused).toHaveLength(new Set(refused).size)
})

test('a map that the reader moved stays where it is when the first device of the fleet appears', async () => {
  const van = await registerVan(product(), 'First van')
  const { page, mapRests } = await read('#/map', { key: van.key })
  const map = page.getByRole('region', { name: /^Map,/ })
  await page.getByRole('region', { name: 'Map, 0 devices in view' }).waitFor()
  await map.press('ArrowRight')
  await expect.poll(() => zoom(page)).toBeGreaterThan(0)
  await mapRests()
  const before = page.url()
  await van.reportAt([10, 51])
  await expect
    .poll(() => page.getByRole('complementary', { name: 'Filters' }).locator('p').first().textContent())
    .toContain('1device on the map')
  await page.getByRole('region', { name: 'Map, 1 device in view' }).waitFor()
  expect(page.url()).toBe(before)
})

test('a click on a cluster zooms in until it splits, and opens no device', async () => {
  const depot = Array.from({ length: 5 }, (_, index) => ({ lat: 57.5 + index / 1_000, lon: -4 + index / 1_000 }))
  const key = await reportPositions([...depot, { lat: 55, lon: -3 }])
  const { items } = await product().call<{ items: { organizationId: string }[] }>('GET', '/devices', undefined, key)
  const silent = { organizationId: items[0]?.organizationId, serial: 'D-9', name: 'Van 9', model: 'RF-310' }
  await product().call('POST', '/devices', silent, product().adminKey)
  const { page, mapRests } = await read('#/map?lon=-4&lat=57.5&z=5&metric=off', { key, reducedMotion: 'no-preference' })
  const map = page.getByRole('region', { name: /^Map, \d+ devices? in view$/ })
  const label = () => map.getAttribute('aria-label')
  await expect.poll(label).toBe('Map, 6 devices in view')
  await page.getByText('1 device has no position').waitFor()
  await mapRests()
  await clickNearCentre(map)
  await expect.poll(() => zoom(page)).toBeGreaterThan(13)
  await expect.poll(label).toBe('Map, 5 devices in view')
  expect(parameters(page).get('device')).toBeNull()
})

test('the search opens its first hit with Enter, the panel takes the focus, and Escape closes it', async () => {
  const [truck] = await movingVehicles(product())
  const { page, seesMap } = await read('#/map')
  await seesMap()
  await expect.poll(() => page.title()).toBe('Map · Routerfleet')
  const search = page.getByLabel('Find a device by name')
  await search.fill(truck?.name ?? '')
  await page.getByRole('list', { name: 'Found devices' }).getByRole('button').first().waitFor()
  await search.press('Enter')
  const heading = page.getByRole('heading', { name: truck?.name ?? '', exact: true })
  await heading.waitFor()
  await expect.poll(() => page.title()).toBe(`${truck?.name} · Map · Routerfleet`)
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(truck?.name)
  await expect.poll(() => zoom(page)).toBeGreaterThan(9)
  await page.keyboard.press('Escape')
  await expect.poll(() => heading.count()).toBe(0)
  await expect
    .poll(() => page.evaluate('document.activeElement.getAttribute("aria-label")'))
    .toBe('Find a device by name')
  await page.getByRole('link', { name: 'Groups' }).click()
  await expect.poll(() => page.title()).toBe('Groups · Routerfleet')
})

test('the search lists names before it knows positions, and the map moves to a hit as soon as it does', async () => {
  const [truck, other] = await movingVehicles(product())
  const { page, seesMap } = await read('#/map')
  await seesMap()
  const positions = Promise.withResolvers<void>()
  await page.route(/\/fleet\/gps\?.*deviceId=/, async (route) => {
    await positions.promise
    await route.continue()
  })
  const search = page.getByLabel('Find a device by name')
  const hits = page.getByRole('list', { name: 'Found devices' }).getByRole('button')
  await search.fill(truck?.name ?? '')
  await hits.first().waitFor()
  expect(await hits.allTextContents()).toEqual([expect.stringContaining(truck?.name ?? '')])
  expect(await hits.allTextContents()).not.toEqual([expect.stringContaining('No position')])
  // Without an animation, the map may have moved when the key press is over.
  const before = zoom(page)
  await search.press('Enter')
  positions.resolve()
  await expect.poll(() => zoom(page)).toBeGreaterThan(before)
  await expect.poll(() => zoom(page)).toBeGreaterThan(9)
  // The panel takes the focus once it is open. Without the focus, an empty search is folded with the filters.
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe(truck?.name)

  await search.fill('')
  await expect.poll(() => hits.count()).toBe(0)
  await search.fill(other?.name ?? '')
  await hits.first().waitFor()
  expect(await hits.allTextContents()).toEqual([expect.stringContaining(other?.name ?? '')])
})

test('operators with the same name have their country and code in the filter', async () => {
  const { page } = await read('#/map')
  const options = page.getByLabel('Operator').getByRole('option')
  await expect.poll(() => options.count()).toBeGreaterThan(4)
  const labels = await options.allTextContents()
  expect(new Set(labels).size).toBe(labels.length)
  expect(labels.some((label) => /\S · (Germany|France|Spain|Netherlands|Italy) · \d{5,6}$/.test(label))).toBe(true)
})

test('places have an outline that a switch hides, an entry in the legend, and a panel with their devices', async ({
  onTestFinished,
}) => {
  const { call, organizationId, adminKey, url } = product()
  const area = { type: 'Circle', lat: 20, lon: -40, radiusM: 20_000 }
  const path = `/orgs/${organizationId}/places`
  const { id } = await call<{ id: string }>('POST', path, { name: 'Mid-ocean depot', area }, adminKey)
  onTestFinished(async () => {
    await fetch(`${url}${path}/${id}`, { method: 'DELETE', headers: { authorization: `Bearer ${adminKey}` } })
  })
  const { page } = await read('#/map?lon=-40&lat=20&z=8&places=off')
  const shown = page.getByRole('checkbox', { name: /^Places \(\d+\)$/ })
  await shown.waitFor()
  await page.getByRole('region', { name: 'Map, 0 devices in view' }).waitFor()
  const inLegend = page.getByRole('group').filter({ hasText: 'Legend' }).getByText('Place', { exact: true })
  expect([await shown.isChecked(), await inLegend.count()]).toEqual([false, 0])
  // Open ocean without devices, so only the place can change the picture around the centre of the map.
  const box = (await page.getByRole('region', { name: /^Map,/ }).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
  const clip = { x: box.x + box.width / 2 - 60, y: box.y + box.height / 2 - 60, width: 120, height: 120 }
  const picture = async () => (await page.screenshot({ clip })).toString('base64')
  const without = await picture()
  await shown.check()
  expect(parameters(page).has('places')).toBe(false)
  await inLegend.waitFor({ state: 'attached' })
  await expect.poll(picture).not.toBe(without)
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
  const panel = page.getByRole('complementary', { name: 'Place Mid-ocean depot' })
  await panel.getByText('No device reported its last position inside this place').waitFor()
  await panel.getByRole('link', { name: 'Open place' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => panel.count()).toBe(0)
  await shown.uncheck()
  await expect.poll(picture).toBe(without)
  await page.evaluate(`location.hash = '#/map?place=${id}'`)
  await panel.waitFor()
  await expect.poll(() => zoom(page)).toBeGreaterThan(8)
})

test('a time range and a filter that the map does not offer are shown in words', async () => {
  const { page, problems } = await read('#/overview')
  await page.getByRole('button', { name: '90 days' }).click()
  await page.getByRole('link', { name: 'Show on the map' }).click()
  const chosen = (name: string) =>
    page.getByRole('combobox', { name, exact: true }).locator('option:checked').textContent()
  await expect.poll(() => chosen('Time range')).toBe('Last 90 days')
  await page.evaluate("location.hash = '#/map?window=2880&plmn=20408&signal=fair,good'")
  await expect.poll(() => chosen('Time range')).toBe('Last 2 days')
  expect([await chosen('Operator'), await chosen('Signal')]).toEqual(['Netherlands · 20408', 'Signal fair or good'])
  await page.evaluate("location.hash = '#/overview?window=2880'")
  await page.getByRole('button', { name: '2 days', pressed: true }).waitFor()
  expect(problems).toEqual([])
})

test('the overview shows what the API counts, and leads to the same devices', { timeout: 5 * minute }, async () => {
  const { call, organizationId } = product()
  type Trend = { steps: unknown[]; operators: { plmn: string }[] }
  const path = `/fleet/signal-trend?orgId=${organizationId}&tag=vehicle`
  const measured = async () => (await call<Trend>('GET', path)).operators.length
  // After a fresh start, the first votes are counted after a minute and a half.
  await expect.poll(measured, { timeout: 4 * minute, interval: 2_000 }).toBeGreaterThan(0)
  const { page } = await read('#/overview?tag=vehicle')
  const card = (name: string) => page.getByRole('region', { name, exact: true })
  type Counts = { firmware: { value: string; devices: number }[] }
  const { firmware } = await call<Counts>('GET', `/orgs/${organizationId}/device-counts?tag=vehicle`)
  await card('Online now')
    .getByText(/\d+ of \d+ devices report/)
    .waitFor()
  await expect.poll(() => card('Firmware').textContent()).toContain(firmware[0]?.value ?? '')
  await card('Signal')
    .getByRole('img', { name: /^RSRP: Median between -?\d+/ })
    .waitFor()
  const operators = card('Worst operators').getByRole('listitem')
  await expect.poll(() => operators.count()).toBe(Math.min(8, await measured()))
  await page.getByRole('button', { name: '7 days' }).click()
  await expect.poll(() => parameters(page).get('window')).toBe('10080')
  await page.reload()
  await expect.poll(() => page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true')
  await card('Online now').getByRole('link', { name: 'Online' }).click()
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  expect(Object.fromEntries(parameters(page))).toMatchObject({ status: 'online', tag: 'vehicle' })
})

test('a list or a view that could not be read appears by itself when the service is back', async () => {
  const { page, problems } = await read('#/groups')
  await page.getByRole('link', { name: 'Trucks' }).waitFor()
  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page.getByText('100 devices').waitFor()
  await page.context().setOffline(true)
  await page.getByRole('button', { name: 'Export' }).click()
  await page.getByRole('alert').getByText('Cannot reach the service').waitFor()
  await page.getByRole('link', { name: 'Groups' }).click()
  await page.getByText('Cannot reach the service. Retrying.').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('link', { name: 'Trucks' }).waitFor()
  await page.context().setOffline(true)
  await page.getByRole('link', { name: 'Profiles' }).click()
  await page.getByText('Could not load this view').waitFor()
  await page.context().setOffline(false)
  await page.getByRole('button', { name: 'New profile' }).waitFor()
  problems.splice(0)
})

/** Creates an organization whose truck drove for 80 minutes yesterday, and had no service for 20 minutes of them, from noon on. */
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
    const place = { ts, lat: 57.5, lon: -4 + Math.min(Math.max(index, 20), 100) / 100, accuracyM: 5 }
    const radio = index >= 60 && index < 80 ? { rat: 'none' } : { rat: 'lte', plmn: '23410', rsrpDbm: -95, sinrDb: 8 }
    return [
      { kind: 'location', ...place, fix: '3d' },
      { kind: 'cellular', ...place, fixAgeMs: 0, ...radio },
    ]
  }).flat()
  await reportStored({ url, call, adminKey }, { deviceId, token }, samples)
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
  await page.getByRole('heading', { name: /^Signal at / }).waitFor()
  const outages = page.getByRole('list', { name: 'Times without service' }).getByRole('listitem')
  await expect.poll(() => outages.count()).toBe(1)
  expect(await outages.textContent()).toContain('12:00')
  expect(await outages.textContent()).toContain('20 min')
  expect(await outages.textContent()).toMatch(/\d+ km [a-z-]+ of [A-Z]|in [A-Z]/)
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

test('on a phone, the map is visible above the panel of a device', async () => {
  const [truck] = await movingVehicles(product())
  const { lon, lat } = truck?.location ?? {}
  const { page } = await read(`#/map?device=${truck?.deviceId}&lon=${lon}&lat=${lat}&z=7`, phone)
  const slider = await page.getByRole('slider', { name: /^Time on the trail/ }).boundingBox()
  const filters = await page.getByRole('complementary', { name: 'Filters' }).boundingBox()
  const [top, bottom] = [(filters?.y ?? 0) + (filters?.height ?? 0) + 10, (slider?.y ?? 0) - 70]
  const clip = { x: 14, y: top, width: phone.viewport.width - 28, height: bottom - top }
  // A picture of one colour has less than half of these bytes. Chromium without a graphics card drew one above a scrolling panel.
  await expect.poll(async () => (await page.screenshot({ clip })).length).toBeGreaterThan(2_000)
})

test('on a phone, finds where a truck had no service yesterday, and replays its trip between two towns', async () => {
  const { ben } = await reportYesterday(product())
  const { page } = await read('#/overview', { key: ben, ...phone })
  await openView(page, 'Map')
  await page.getByRole('button', { name: 'Show filters' }).click()
  await page.getByLabel('Time range').selectOption('Yesterday')
  await page.getByLabel('Find a device by name').fill('truck')
  const found = page.getByRole('list', { name: 'Found devices' })
  await found.getByRole('button', { name: /^Truck 1/ }).click()
  await page.getByRole('list', { name: 'Times without service' }).getByRole('button').click()
  const slider = page.getByRole('slider', { name: /^Time on the trail/ })
  await expect.poll(() => slider.getAttribute('aria-valuetext')).toContain('12:00')
  const trip = page.getByRole('region', { name: 'Trips' }).getByRole('listitem').first()
  await expect.poll(() => trip.textContent()).toMatch(/, .*[A-Z].* to .*[A-Z].*, 20 min without service/)
  expect(await tooSmallToTouch(page)).toEqual([])
  await trip.getByRole('link', { name: 'Play' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
})
