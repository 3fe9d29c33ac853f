import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { pmtilesWorld } from '#test/pmtiles'
import { decodeTile } from '#test/tiles'
import { type Violation, violations } from './axe.ts'
import { servePage, serveStyle } from './map-background.ts'
import { serveBelow } from './path-prefix.ts'
import { movingVehicles } from './product.ts'
import { reportRoad, road, roadIsCounted, type SurveyedRoad } from './reported-road.ts'
import { registerVan } from './reported-van.ts'
import { openView, phone, tooSmallToTouch } from './screens.ts'
import { browserSession } from './session.ts'
import { testWorldMap, worldMapIsBuilt } from './world-map.ts'

// Tests the web page in Chromium, against a product started like `npm start`, with the demo fleet.

const minute = 60_000
// After a fresh start, the first coverage cells take a minute.
vi.setConfig({ testTimeout: 2 * minute })
let surveyed: SurveyedRoad
const session = browserSession({
  prepare: async (product) => {
    surveyed = await reportRoad(product)
    await worldMapIsBuilt(product)
  },
})
const { product, read } = session

const parameters = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split('?')[1])
/** As red, green and blue: a weak, a good and an unknown signal. */
const trailColors = ['253,174,97', '171,217,233', '139,147,156']
const mapLabel = (page: Page) => page.getByRole('region', { name: /^Map,/ }).getAttribute('aria-label')
const shownCount = (page: Page) =>
  page.getByRole('complementary', { name: 'Filters' }).locator('strong').first().textContent()

test('edits a profile and replaces its secret, which no response ever contains', async () => {
  const { page, answers } = await read('#/profiles')
  const open = () => page.getByRole('button', { name: 'Edit' }).first().click()
  const settings = page.getByLabel('Settings (JSON)')
  const asJson = () => page.getByRole('button', { name: 'JSON' }).click()
  const row = page.getByRole('table').getByRole('row').nth(1)
  const version = async () => Number(await row.getByRole('cell').nth(2).textContent())
  await row.waitFor()
  const versionBefore = await version()
  await open()
  await asJson()
  const before = JSON.parse(await settings.inputValue())
  expect(before.wifi.wifiPassword).toEqual({ $secret: { set: true, updatedAt: expect.any(String) } })
  const secret = 'correct-horse-battery-staple'
  const after = { ...before, wifi: { ssid: 'depot', wifiPassword: { $secret: secret } } }
  await settings.fill(JSON.stringify(after, null, 2))
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(() => page.locator('dialog').count()).toBe(0)

  await expect.poll(version).toBe(versionBefore + 1)
  expect(await row.textContent()).toContain('/wifi/wifiPassword set')
  await open()
  await asJson()
  expect(JSON.parse(await settings.inputValue()).wifi).toMatchObject({
    ssid: 'depot',
    wifiPassword: { $secret: { set: true } },
  })
  expect(await page.content()).not.toContain(secret)
  expect(await answers()).not.toContain(secret)
})

test('creates a group, adds devices, reboots them, and shows the batch until it finishes', {
  timeout: 3 * minute,
}, async () => {
  const trucks = (await movingVehicles(product())).slice(1, 3)
  const { page } = await read('#/groups')
  await page.getByRole('button', { name: 'New group' }).click()
  await page.getByLabel('Name').fill(`Two trucks ${randomUUID()}`)
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('This group has no devices').waitFor()

  await page.getByRole('button', { name: 'Add devices' }).click()
  for (const { name } of trucks) {
    await page.getByLabel(/^Name, serial or model/).fill(name)
    await page
      .getByRole('dialog')
      .getByRole('checkbox', { name: new RegExp(`^${name}`) })
      .check()
  }
  await page.getByRole('button', { name: 'Add 2' }).click()
  await page.getByText('2 devices, 2 added manually').waitFor()

  await page.getByRole('button', { name: 'Reboot all' }).click()
  await page.getByRole('dialog', { name: 'Reboot all 2 devices?' }).getByRole('button', { name: 'Reboot' }).click()
  await page.getByRole('heading', { name: 'Jobs / Reboot' }).waitFor()
  const summary = page.locator('.card strong').first()
  await expect.poll(() => summary.textContent(), { timeout: 2 * minute }).toBe('2 of 2 succeeded · finished')
  const states = page.getByRole('table', { name: 'Jobs of this batch' }).getByText('Succeeded')
  await expect.poll(() => states.count()).toBe(2)
})

test('follows a device that moves out of the view and back, without a new start', async () => {
  const van = await registerVan(product(), 'Mover')
  const here: [lon: number, lat: number] = [30, -20]
  const away: [lon: number, lat: number] = [40, -30]
  await van.reportAt(here)
  const { page } = await read(`#/map?org=${van.organizationId}&lon=30&lat=-20&z=12&metric=off`, { key: van.key })
  await page.evaluate('window.isFirstStart = true')
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  await van.reportAt(away)
  await expect.poll(() => mapLabel(page)).toBe('Map, 0 devices in view')
  await van.reportAt(here)
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  expect(await page.evaluate('window.isFirstStart')).toBe(true)
})

test('maps the day of a device, shows its modems side by side, and switches between them in the panel of the map', {
  timeout: 6 * minute,
}, async () => {
  const van = await registerVan(product(), 'Two operators')
  await van.reportAt([30, -20])
  const ts = Date.now() - 10_000
  const [first, second] = [{ modem: 'wwan0' }, { modem: 'wwan1', simPlmn: '20408' }]
  await van.report([
    { kind: 'cellular', ts, ...first, rat: 'lte', plmn: '20404', operatorName: 'Vodafone', rsrpDbm: -90 },
    { kind: 'cellular', ts: ts - 60_000, ...first, rat: 'lte', plmn: '20404', operatorName: 'Vodafone', rsrpDbm: -95 },
    { kind: 'cellular', ts, ...second, rat: 'none' },
    { kind: 'cellular', ts: ts - 60_000, ...second, rat: 'none' },
    { kind: 'connection', ts: ts - 60_000, ...first, state: 'connected', rxBytes: 1e9, txBytes: 5e6 },
    { kind: 'connection', ts, ...first, state: 'connected', rxBytes: 1.0123e9, txBytes: 6e6 },
    { kind: 'connection', ts, ...second, state: 'disconnected' },
    ...Array.from({ length: 10 }, (_, index) => ({
      ...{ kind: 'location', ts: ts - (10 - index) * 60_000, lat: -20, lon: 29.9 + index / 100 },
      ...{ fix: '3d', accuracyM: 5 },
    })),
  ])
  const { page } = await read(`#/device?id=${van.deviceId}&org=${van.organizationId}`, { key: van.key })
  const cards = page.getByRole('region', { name: 'Modems' }).locator('.card')
  await expect
    .poll(() => cards.allTextContents())
    .toEqual([
      expect.stringMatching(/^wwan0 Active.*Vodafone.*−90 dBm.*connected.*12\.3 MB.*1\.0 MB$/),
      expect.stringMatching(/^wwan1 .*No service.*SIM of 20408.*disconnected.*–$/),
    ])
  const history = page.getByRole('region', { name: 'History' })
  await history
    .getByRole('img', { name: /^Signal \(RSRP\): wwan0 between −?-?\d+ and .* dBm, wwan1: no values$/ })
    .waitFor()
  await history.getByLabel('Range of the charts').selectOption('Last hour')
  await expect.poll(() => parameters(page).get('range')).toBe('60')
  await history.getByRole('table', { name: 'Data use by day' }).getByText('12.3 MB').waitFor()
  await page
    .getByRole('region', { name: 'Facts' })
    .getByText(/(km .* of|^in) [A-Z]/)
    .waitFor()
  const map = page.getByRole('region', { name: 'Map of the last 24 hours' })
  await map.getByRole('region', { name: 'Map, 1 device in view' }).waitFor()
  // The van came from the west.
  await expect.poll(() => trailShare(page, map), { interval: 500 }).toBeGreaterThan(0.6)
  expect(await violations(page)).toEqual([])
  const top = async () => (await map.boundingBox())?.y ?? 0
  const before = await top()
  await map.hover()
  await page.mouse.wheel(0, 100)
  await expect.poll(top).toBeLessThan(before)
  await page.goto(`${product().url}/#/map?device=${van.deviceId}&org=${van.organizationId}&lon=30&lat=-20&z=12`)
  const panel = page.getByRole('complementary', { name: 'Device Two operators' })
  const modem = (name: string) => panel.getByRole('group', { name: 'Modem' }).getByRole('button', { name })
  await panel.getByText('−90 dBm').waitFor()
  expect(await modem('wwan0').getAttribute('aria-pressed')).toBe('true')
  expect(await panel.getByRole('list', { name: 'Times without service' }).count()).toBe(0)
  await modem('wwan1').click()
  await panel.getByRole('list', { name: 'Times without service' }).waitFor()
  expect(await panel.getByText('−90 dBm').count()).toBe(0)
  expect(parameters(page).get('modem')).toBe('wwan1')
  await modem('wwan0').click()
  await panel.getByText('−90 dBm').waitFor()
  expect(parameters(page).has('modem')).toBe(false)
})

test('shows a fleet, the day of a ship and a place across the antimeridian as one', {
  timeout: 6 * minute,
}, async () => {
  const { call, adminKey } = product()
  const ship = await registerVan(product(), 'Ferry')
  const ts = Date.now() - 10_000
  const fixes = Array.from({ length: 10 }, (_, index) => ({
    ...{
      kind: 'location',
      ts: ts - (9 - index) * 60_000,
      lat: -17,
      lon: 179.95 + index / 100,
      fix: '3d',
      accuracyM: 5,
    },
  }))
  await ship.report(fixes.map((fix) => ({ ...fix, lon: fix.lon > 180 ? fix.lon - 360 : fix.lon })))
  const { organizationId } = ship
  const lagoon = [[179, -18], [-179, -18], [-179, -16], [179, -16], [179, -18]] // biome-ignore format: one look
  const area = { type: 'Polygon', coordinates: [lagoon] }
  const place = await call<{ id: string }>('POST', `/orgs/${organizationId}/places`, { name: 'Lagoon', area }, adminKey)
  const suva = { organizationId, serial: 'SUVA', name: 'Suva', model: 'RF-310' }
  const { id } = await call<{ id: string }>('POST', '/devices', suva, adminKey)
  const { token } = await call<{ token: string }>('POST', `/devices/${id}/token`, {}, adminKey)
  const samples = [{ kind: 'location', ts, lat: -18.14, lon: 178.44, fix: '3d', accuracyM: 5 }]
  await call('POST', '/telemetry', { samples }, token)

  const { page } = await read(`#/map?org=${organizationId}`, { key: ship.key })
  await expect.poll(() => mapLabel(page)).toBe('Map, 2 devices in view')
  const zoom = () => Number(parameters(page).get('z'))
  await expect.poll(zoom).toBeGreaterThan(5)
  await page.goto(`${product().url}/#/device?id=${ship.deviceId}&org=${organizationId}`)
  const map = page.getByRole('region', { name: 'Map of the last 24 hours' })
  await map.getByRole('region', { name: 'Map, 1 device in view' }).waitFor()
  await expect.poll(() => trailShare(page, map), { interval: 500 }).toBeGreaterThan(0.6)
  await page.goto(`${product().url}/#/map?org=${organizationId}&place=${place.id}`)
  await page.getByRole('complementary', { name: 'Place Lagoon' }).waitFor()
  await expect.poll(() => Math.abs(Number(parameters(page).get('lon')))).toBeGreaterThan(179.5)
  await expect.poll(zoom).toBeGreaterThan(5)
})

/** Returns in which part of the columns of a map a trail is drawn. */
async function trailShare(page: Page, map: Locator): Promise<number> {
  const picture = (await map.locator('canvas').screenshot()).toString('base64')
  return page.evaluate(`(async () => {
    const bytes = Uint8Array.from(atob('${picture}'), (letter) => letter.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes]))
    const pen = new OffscreenCanvas(image.width, image.height).getContext('2d')
    pen.drawImage(image, 0, 0)
    const { data } = pen.getImageData(0, 0, image.width, image.height)
    const columns = new Set()
    for (let at = 0; at < data.length; at += 4)
      if (${JSON.stringify(trailColors)}.includes([...data.slice(at, at + 3)].join())) columns.add((at / 4) % image.width)
    return columns.size / image.width
  })()`)
}

test('finds a device by a part of its name, lists it, and moves the map to it', async () => {
  const [truck] = await movingVehicles(product())
  const { page, seesMap } = await read('#/map')
  await seesMap()
  await page.getByLabel('Find a device by name').fill((truck?.name ?? '').toLowerCase())
  const hits = page.getByRole('list', { name: 'Found devices' }).getByRole('button')
  await expect.poll(() => hits.count()).toBe(1)
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  await hits.first().click()
  await page.getByRole('complementary', { name: `Device ${truck?.name}` }).waitFor()
  await expect.poll(() => Number(parameters(page).get('z'))).toBeGreaterThan(9)
  const [lon, lat] = [truck?.location?.lon ?? 0, truck?.location?.lat ?? 0]
  await expect.poll(() => Math.abs(Number(parameters(page).get('lon')) - lon)).toBeLessThan(1)
  await expect.poll(() => Math.abs(Number(parameters(page).get('lat')) - lat)).toBeLessThan(1)
})

test('opens a device from the map with signal, charts, and a time slider for its trail', async () => {
  const [truck] = await movingVehicles(product())
  const { lon, lat } = truck?.location ?? {}
  const { page, seesMap } = await read(`#/map?lon=${lon}&lat=${lat}&z=12&q=${truck?.name}&metric=off`)
  await expect.poll(() => shownCount(page)).toBe('1')
  const canvas = page.getByRole('region', { name: /^Map,/ })
  // The truck moves while the page loads, so click its newest position until its panel opens.
  await expect.poll(() => clickOn(page, truck?.deviceId ?? ''), { interval: 300 }).toBe(true)
  await page.getByRole('button', { name: 'RSRP' }).click()
  await seesMap()

  await page
    .getByText(/Limited by|Between two fixes|GNSS fix|Waiting for GPS/)
    .first()
    .waitFor()
  const chart = page.getByRole('img', { name: /^RSRP: RSRP between -?\d+ and -?\d+ dBm/ })
  await chart.waitFor()
  const legend = () => chart.locator('.u-legend').textContent()
  const [now, picture] = [await legend(), await canvas.screenshot()]
  const slider = page.getByRole('slider', { name: /^Time on the trail/ })
  await page.getByLabel('Speed').waitFor()
  const box = await slider.boundingBox()
  await slider.focus()
  await slider.press('Home')
  await expect.poll(() => parameters(page).has('t')).toBe(true)
  await page.getByRole('button', { name: 'Back to now' }).waitFor()
  expect(await slider.boundingBox()).toEqual(box)
  expect(await page.getByRole('region', { name: 'Time' }).getByRole('status').textContent()).not.toBe('Now')
  await expect.poll(legend).not.toBe(now)
  await expect.poll(async () => picture.equals(await canvas.screenshot())).toBe(false)
  await page.getByRole('button', { name: 'Back to now' }).click()
  await expect.poll(() => parameters(page).has('t')).toBe(false)
})

test('plays a trip of a device on the map', async () => {
  const [truck] = await movingVehicles(product())
  const { page } = await read(`#/device?id=${truck?.deviceId}`)
  const trips = page.getByRole('region', { name: 'Trips' })
  expect(await trips.getByRole('listitem').first().textContent()).toMatch(
    /^\d+\.\d km in .* to [^,]+, .*[A-ZÀ-Ž].* to .*[A-ZÀ-Ž]/,
  )
  await trips.getByRole('link', { name: 'Play' }).first().click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  const start = parameters(page).get('t')
  await expect.poll(() => parameters(page).get('t')).not.toBe(start)
  expect(parameters(page).has('play')).toBe(false)

  // The map follows, and the panel shows the values and the town of the moment.
  expect(parameters(page).get('follow')).toBe('1')
  const panel = page.getByRole('complementary', { name: `Device ${truck?.name}` })
  await panel.getByRole('heading', { name: /^Signal at / }).waitFor()
  const pause = page.getByRole('button', { name: 'Pause' })
  if (await pause.isVisible()) await pause.click()
  const position = panel.locator('dt', { hasText: /^Position$/ }).locator('+ dd')
  await expect.poll(() => position.textContent()).toMatch(/^(\d+ km .* of|in) .* earlier$/)
  expect(await panel.getByRole('heading', { name: 'Health' }).count()).toBe(0)

  const follow = page.getByRole('button', { name: 'Follow' })
  expect(await follow.getAttribute('aria-pressed')).toBe('true')
  const map = page.getByRole('region', { name: /^Map,/ })
  await map.focus()
  for (let presses = 0; presses < 12; presses++) await map.press('ArrowUp')
  await expect.poll(() => follow.getAttribute('aria-pressed')).toBe('false')
})

test('names a device on the map below the pointer', async () => {
  const van = await registerVan(product(), 'Named van')
  await van.reportAt([30, -20])
  const { page } = await read(`#/map?org=${van.organizationId}&lon=30&lat=-20&z=10&metric=off`, { key: van.key })
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  const { x, y } = await pixelOf(page, { lon: 30, lat: -20 })
  const tooltip = page.locator('.map-tooltip')
  await expect
    .poll(async () => {
      await page.mouse.move(x + 40, y)
      await page.mouse.move(x, y)
      return tooltip.textContent()
    })
    .toMatch(/^Named van/)
  await page.mouse.move(x + 60, y)
  await tooltip.waitFor({ state: 'hidden' })
})

test('a range in the past shows where the devices were then', async () => {
  const van = await registerVan(product(), 'Past van')
  const hourMs = 60 * minute
  await van.report([
    { kind: 'location', ts: Date.now() - 3 * hourMs, lat: -20, lon: 30, fix: '3d', accuracyM: 5 },
    { kind: 'location', ts: Date.now() - 1_000, lat: -30, lon: 40, fix: '3d', accuracyM: 5 },
  ])
  const iso = (hoursAgo: number) => new Date(Date.now() - hoursAgo * hourMs).toISOString()
  const at = (lon: number, lat: number) =>
    `#/map?org=${van.organizationId}&lon=${lon}&lat=${lat}&z=10&metric=off&from=${iso(4)}&to=${iso(2)}`
  const { page } = await read(at(30, -20), { key: van.key })
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  await page.goto(`${product().url}/${at(40, -30)}`)
  await expect.poll(() => mapLabel(page)).toBe('Map, 0 devices in view')
})

/** Clicks the newest position of a device on the map. Returns true once the device is selected. */
async function clickOn(page: Page, deviceId: string): Promise<boolean> {
  if (parameters(page).get('device') === deviceId) return true
  const devices = await movingVehicles(product())
  const at = devices.find((device) => device.deviceId === deviceId)?.location
  if (!at) return false
  const { x, y } = await pixelOf(page, at)
  await page.mouse.click(x, y)
  return parameters(page).get('device') === deviceId
}

/** Returns the screen position of a place, calculated from the view in the address. */
async function pixelOf(page: Page, at: { lon: number; lat: number }): Promise<{ x: number; y: number }> {
  const box = await page.getByRole('region', { name: /^Map,/ }).boundingBox()
  if (!box) throw new Error('There is no map.')
  const [lon, lat, zoom] = ['lon', 'lat', 'z'].map((name) => Number(parameters(page).get(name))) as [
    number,
    number,
    number,
  ]
  const size = 512 * 2 ** zoom
  const northing = (degrees: number) => Math.log(Math.tan(Math.PI / 4 + (degrees * Math.PI) / 360)) / (2 * Math.PI)
  const x = box.x + box.width / 2 + ((at.lon - lon) / 360) * size
  const y = box.y + box.height / 2 - (northing(at.lat) - northing(lat)) * size
  return { x, y }
}

test('changes the coverage metric and its legend', async () => {
  const { page, seesMap } = await read('#/map')
  await seesMap()
  const legend = page.getByRole('group').filter({ hasText: 'Legend' })
  expect(await legend.textContent()).toContain('≥ −85 dBm')
  for (const mark of ['Few measurements', 'No report for 15 min', 'Several devices, by signal', 'Faded', 'Error'])
    expect(await legend.textContent()).toContain(mark)
  await page.getByRole('button', { name: 'SINR' }).click()
  expect(await legend.textContent()).toContain('≥ 13 dB')
  await page.getByRole('button', { name: 'Service', exact: true }).click()
  expect(await legend.textContent()).toContain('≥ 99 %')
  await page.getByRole('button', { name: 'Off' }).click()
  await expect.poll(() => legend.count()).toBe(0)
})

type DeadZone = { id: string; lat: number; lon: number; noServiceS: number; samples: number; cells: string[] }

test('lists the dead zones of the API and shows a selected zone on the map', { timeout: 6 * minute }, async () => {
  await roadIsCounted(product(), surveyed)
  const list = () => product().call<{ items: DeadZone[] }>('GET', '/fleet/dead-zones', undefined, surveyed.key)
  await expect.poll(async () => (await list()).items.length, { timeout: minute }).toBeGreaterThan(0)
  const { page } = await read('#/map', { key: surveyed.key })
  const answered = page.waitForResponse((response) => response.url().includes('/fleet/dead-zones'))
  await page.getByRole('button', { name: 'Dead zones' }).click()
  const { items } = (await (await answered).json()) as { items: DeadZone[] }
  const entries = page.getByRole('complementary', { name: 'Dead zones' }).getByRole('listitem')
  await expect.poll(() => entries.count()).toBe(items.length)
  const shown = await entries.getByRole('strong').or(entries.locator('strong')).allTextContents()
  expect(shown).toEqual(items.map(headline))
  const [worst] = items
  await entries.first().getByRole('button').click()
  await expect.poll(() => parameters(page).get('zone')).toBe(worst?.id)
  await expect.poll(() => Math.abs(Number(parameters(page).get('lat')) - (worst?.lat ?? 0))).toBeLessThan(0.5)
  expect(Number(parameters(page).get('z'))).toBeGreaterThan(9)
  expect(await entries.first().getByRole('button').getAttribute('aria-current')).toBe('true')
})

test('shows coverage and dead zones of a range in the past, and none beside it', { timeout: 6 * minute }, async () => {
  await roadIsCounted(product(), surveyed)
  // The tunnel was measured five to nine hours ago.
  const { page } = await read('#/map?lon=-3.9547&lat=57.5&z=13&metric=off&panel=dead-zones', { key: surveyed.key })
  const choose = async (fromHoursAgo: number, toHoursAgo: number) => {
    const local = (hoursAgo: number) => {
      const ms = Date.now() - hoursAgo * 60 * minute
      return new Date(ms - new Date(ms).getTimezoneOffset() * minute).toISOString().slice(0, 16)
    }
    await page.getByLabel('From', { exact: true }).fill(local(fromHoursAgo))
    await page.getByLabel('To', { exact: true }).fill(local(toHoursAgo))
  }
  const zones = page.getByRole('complementary', { name: 'Dead zones' })
  await page.getByLabel('Time range').selectOption('Between two times')
  await choose(4, 10)
  await page.getByText('The end must be after the start.').waitFor()
  expect(await page.getByLabel('To', { exact: true }).getAttribute('aria-invalid')).toBe('true')
  await choose(10, 4)
  await zones.getByRole('listitem').first().waitFor()
  const { x, y } = await pixelOf(page, { lon: -3.9547, lat: 57.5 })
  const clip = { x: x - 30, y: y - 30, width: 60, height: 60 }
  const picture = async () => (await page.screenshot({ clip })).toString('base64')
  const withoutCells = await picture()
  await page.getByRole('button', { name: 'RSRP' }).click()
  await expect.poll(picture).not.toBe(withoutCells)
  await choose(4, 2)
  await zones.getByText('No dead zones found in the measured area').waitFor()
  await expect.poll(picture).toBe(withoutCells)
})

const headline = ({ noServiceS, samples }: DeadZone) => {
  const minutes = noServiceS / 60
  if (1 - minutes / samples >= 0.9) return 'Signal too weak'
  const text =
    minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
  return `${text} without service`
}

const mapTakesPoints = (page: Page) =>
  expect
    .poll(() => page.getByRole('region', { name: /^Map,/ }).evaluate((canvas) => canvas.style.cursor))
    .toBe('crosshair')

test('forecasts a route drawn on the map, and again after opening its link', { timeout: 6 * minute }, async () => {
  await roadIsCounted(product(), surveyed)
  const way = road.filter((_, index) => index % 20 === 0)
  // The whole road is visible between the filters and the panel.
  const [lon, lat] = road[40] ?? [0, 0]
  const { page } = await read(`#/map?panel=route&lon=${lon}&lat=${lat}&z=11.4`, { key: surveyed.key })
  const panel = page.getByRole('complementary', { name: 'Route forecast' })
  await panel.getByText('Click the map to set the start of the route').waitFor()
  await mapTakesPoints(page)
  const click = async ([pointLon, pointLat]: [number, number], clickCount = 1) => {
    const { x, y } = await pixelOf(page, { lon: pointLon, lat: pointLat })
    await page.mouse.click(x, y, { clickCount })
  }
  for (const [index, point] of way.slice(0, -1).entries()) {
    await click(point)
    // Wait, because two quick clicks would be a double click.
    const expected = index === 0 ? 'Click to add points' : `${index * 2}.0 km`
    await expect.poll(() => panel.textContent()).toContain(expected)
  }
  const answered = page.waitForResponse((response) => response.url().endsWith('/fleet/forecast'))
  await click(way.at(-1) ?? [0, 0], 2)
  const answer = await answered
  expect(answer.status()).toBe(200)
  const { summary, lengthM } = await answer.json()
  expect(JSON.parse(answer.request().postData() ?? '{}').path).toHaveLength(way.length)
  // Some cells of the tunnel have no samples of their own, so it may be several dead zones.
  const zones: { fromM: number; toM: number }[] = summary.deadZones
  expect(Math.abs((zones[0]?.fromM ?? 0) - 2_000)).toBeLessThan(400)
  expect(Math.abs((zones.at(-1)?.toM ?? 0) - 3_500)).toBeLessThan(400)
  expect(summary.recommendedPlmn).toBe('23410')
  expect(await panel.textContent()).toContain(`${(lengthM / 1_000).toFixed(1)} km`)
  await panel.getByRole('img', { name: /^RSRP along the route: median between -?\d+ and -?\d+ dBm/ }).waitFor()
  const operators = panel.getByRole('table', { name: 'Operators along the route' }).locator('tbody tr')
  expect(await operators.count()).toBe(Object.keys(summary.byPlmn).length)
  await operators.first().getByText('Recommended').waitFor()
  const ahead = panel.getByRole('listitem').filter({ hasText: 'without usable service' })
  expect(await ahead.count()).toBe(zones.length)
  expect(await ahead.first().textContent()).toContain(`At ${((zones[0]?.fromM ?? 0) / 1_000).toFixed(1)} km`)
  expect(parameters(page).get('route')).toBeTruthy()

  await page.reload()
  await panel.getByRole('img', { name: /^RSRP along the route/ }).waitFor()
  await panel.getByRole('button', { name: 'Clear' }).click()
  await expect.poll(() => parameters(page).has('route')).toBe(false)
})

test('draws a route with the keyboard: adds points, removes one, and finishes with Enter', async () => {
  const { page } = await read('#/map?panel=route&lon=8&lat=50&z=9')
  const panel = page.getByRole('complementary', { name: 'Route forecast' })
  const add = panel.getByRole('button', { name: 'Add point at map centre' })
  await mapTakesPoints(page)
  const canvas = page.getByRole('region', { name: /^Map,/ })
  for (let point = 0; point < 3; point++) {
    await add.focus()
    await page.keyboard.press('Enter')
    const before = page.url()
    await canvas.focus()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => page.url()).not.toBe(before)
  }
  await page.keyboard.press('Backspace')
  const answered = page.waitForResponse((response) => response.url().endsWith('/fleet/forecast'))
  await page.keyboard.press('Enter')
  expect(JSON.parse((await answered).request().postData() ?? '{}').path).toHaveLength(2)
})

test('forecasts a GPX or GeoJSON file, and explains why another file is invalid', { timeout: 6 * minute }, async () => {
  await roadIsCounted(product(), surveyed)
  const segment = (points: typeof road) =>
    `<trkseg>${points.map(([lon, lat]) => `<trkpt lat="${lat}" lon="${lon}"><ele>3</ele></trkpt>`).join('')}</trkseg>`
  const gpxOf = (content: string) =>
    `<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">${content}</gpx>`
  const { page } = await read('#/map?panel=route', { key: surveyed.key })
  const panel = page.getByRole('complementary', { name: 'Route forecast' })
  const choose = (name: string, text: string) =>
    panel
      .getByLabel('GPX or GeoJSON file')
      .setInputFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(text) })
  await choose('broken.gpx', '<gpx><trk>')
  await panel.getByRole('alert').getByText('not valid XML').waitFor()
  await choose('point.geojson', '{"type":"Point","coordinates":[1,2]}')
  await panel.getByRole('alert').getByText('no LineString').waitFor()
  await choose('google-earth.kml', '<kml/>')
  await panel.getByRole('alert').getByText('The file is KML, not GPX').waitFor()
  await choose('way.gpx', gpxOf(`<trk>${segment(road)}</trk>`))
  await panel.getByText('way.gpx').waitFor()
  await panel.getByRole('img', { name: /^RSRP along the route/ }).waitFor()
  await choose('way.geojson', JSON.stringify({ type: 'Feature', geometry: { type: 'LineString', coordinates: road } }))
  await panel.getByText('way.geojson').waitFor()
  expect(await panel.getByRole('alert').count()).toBe(0)
  const days = [road.slice(0, 20), road.slice(-20)].map((points) => `<trk>${segment(points)}</trk>`)
  const answered = page.waitForResponse((response) => response.url().endsWith('/fleet/forecast'))
  await choose('days.gpx', gpxOf(`<wpt lat="1" lon="2"/>${days.join('')}`))
  await panel.getByText('Skipped: 1 waypoint.').waitFor()
  const { lengthM, stretches } = await (await answered).json()
  expect(stretches).toHaveLength(2)
  const title = `${(lengthM / 1_000).toFixed(1)} km in 2 parts`
  await panel.getByText(`days.gpx, ${title}`).waitFor()
  await page.reload()
  await panel.getByText(title).waitFor()
})

test('on a phone, names the towns beside dead zones, and forecasts a GPX file', { timeout: 6 * minute }, async () => {
  await roadIsCounted(product(), surveyed)
  const { page } = await read('#/overview', { key: surveyed.key, ...phone })
  await openView(page, 'Map')
  const choose = async (name: string) => {
    await page.getByRole('button', { name: 'Show filters' }).click()
    await page.getByRole('button', { name }).click()
  }
  await choose('Dead zones')
  const zones = page.getByRole('complementary', { name: 'Dead zones' })
  const worst = zones.getByRole('listitem').first().getByRole('button')
  expect(await worst.textContent()).toMatch(/(of|in) [A-Z]/)
  await worst.click()
  expect(await tooSmallToTouch(page)).toEqual([])
  await zones.getByRole('button', { name: 'Close' }).click()
  await choose('Route forecast')
  const panel = page.getByRole('complementary', { name: 'Route forecast' })
  const points = road.map(([lon, lat]) => `<trkpt lat="${lat}" lon="${lon}"/>`).join('')
  const file = `<gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>${points}</trkseg></trk></gpx>`
  await panel
    .getByLabel('GPX or GeoJSON file')
    .setInputFiles({ name: 'way.gpx', mimeType: 'application/gpx+xml', buffer: Buffer.from(file) })
  await panel.getByRole('img', { name: /^RSRP along the route/ }).waitFor()
  expect(await tooSmallToTouch(page)).toEqual([])
})

test('shows the fleet as a table with the same filters', async () => {
  const { page } = await read('#/map?as=table')
  const rows = page.getByRole('table', { name: 'Devices' }).locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(100)
  await page.getByLabel('Search by name').fill('ship 0')
  await expect.poll(() => rows.count()).toBe(24)
  await rows.first().getByRole('link').click()
  await page.getByRole('heading', { name: /Ship 0/ }).waitFor()
})

/** An organization with devices at 30° west that reported once. */
async function reportedTrucks() {
  const call = <Answer>(path: string, body: unknown, key = product().adminKey) =>
    product().call<Answer>('POST', path, body, key)
  const { id } = await call<{ id: string }>('/orgs', { name: 'Weak trucks', plan: 'pro' })
  const { key } = await call<{ key: string }>(`/orgs/${id}/api-keys`, { name: 'page', role: 'operator' })
  const seen = [
    ['Truck 1', 'truck', -113, 0],
    ['Truck 2', 'truck', -80, 0.01],
    ['Truck 3', 'truck', -111, 0.02],
    ['Truck 4', 'truck', -114, 40],
    ['Van 5', 'van', -114, 0.03],
  ] as const
  for (const [name, tag, rsrpDbm, degreesEast] of seen) {
    const device = { organizationId: id, serial: name, name, model: 'R1', tags: [tag] }
    const created = await call<{ id: string }>('/devices', device, key)
    const { token } = await call<{ token: string }>(`/devices/${created.id}/token`, {}, key)
    const samples = [
      { kind: 'location', lat: -20, lon: -30 + degreesEast, fix: '3d', accuracyM: 4 },
      { kind: 'cellular', rat: 'lte', rsrpDbm, sinrDb: 20, plmn: '26201', operatorName: 'Telekom' },
    ]
    await call('/telemetry', { samples }, token)
  }
  return { org: id, key }
}

test('lists trucks with a bad signal in the view of the map, downloads, saves and disables them', {
  timeout: 3 * minute,
}, async () => {
  const { org, key } = await reportedTrucks()
  const { page, problems } = await read(`#/map?org=${org}&tag=truck&lon=-30&lat=-20&z=9`, { key })
  await expect.poll(() => shownCount(page)).toBe('4')
  await page.getByRole('combobox', { name: 'Signal', exact: true }).selectOption({ label: 'Bad signal' })
  await expect.poll(() => shownCount(page)).toBe('3')
  await page.getByRole('button', { name: 'Show table' }).click()

  const names = () => page.getByRole('table', { name: 'Devices' }).locator('tbody a').allTextContents()
  await expect.poll(names).toEqual(['Truck 3', 'Truck 1'])
  const chips = page.getByRole('list', { name: 'Filtered by' })
  for (const chip of ['Tag truck', 'In the view of the map', 'Bad signal']) await chips.getByText(chip).waitFor()
  await page.getByRole('button', { name: 'Signal', exact: true }).click()
  await expect.poll(names).toEqual(['Truck 1', 'Truck 3'])
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export', exact: true }).click()
  const [head = '', ...lines] = (await readFile(await (await downloading).path(), 'utf8')).trim().split('\r\n')
  const column = (name: string) => lines.map((line) => line.split(',')[head.split(',').indexOf(name)])
  expect(column('name')).toEqual(['Truck 1', 'Truck 3'])
  expect(column('rsrpDbm')).toEqual(['-113', '-111'])
  expect(column('operator')).toEqual(['Telekom', 'Telekom'])

  const openViews = () => page.getByText('Views', { exact: true }).click()
  await openViews()
  await page.getByRole('button', { name: 'Save view' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Weak in the south')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.evaluate(`location.hash = '#/devices?org=${org}'`)
  await page.reload()
  await expect.poll(async () => (await names()).length).toBe(5)
  await openViews()
  await page.getByLabel('Saved views').selectOption('Weak in the south')
  await expect.poll(names).toEqual(['Truck 1', 'Truck 3'])

  await page.getByRole('button', { name: 'Stop filtering by In the view of the map' }).click()
  await expect.poll(names).toEqual(['Truck 4', 'Truck 1', 'Truck 3'])
  await page.getByRole('checkbox', { name: 'Select all devices shown' }).check()
  await page.getByText('More actions').click()
  await page.getByRole('button', { name: 'Disable' }).click()
  const dialog = page.getByRole('dialog', { name: 'Disable 3 devices?' })
  await dialog.getByText('Truck 1, Truck 3, Truck 4').waitFor()
  await dialog.getByRole('button', { name: 'Disable 3 devices' }).click()
  await page.getByRole('dialog', { name: '3 devices disabled' }).getByRole('button', { name: 'Done' }).click()
  await expect.poll(() => page.locator('tbody').getByText('Disabled').count()).toBe(3)
  expect(problems).toEqual([])
})

test('a link is followed although the map writes its address in the same moment', async () => {
  const { page, seesMap } = await read('#/map')
  await seesMap()
  await page.evaluate(`{
    location.hash = '#/map?as=table'
    const search = document.querySelector('input[type=search]')
    search.value = 'van'
    search.dispatchEvent(new Event('input', { bubbles: true }))
  }`)
  await page.getByRole('table', { name: 'Devices' }).waitFor()
})

test('imports the valid rows of a CSV file and lists the invalid row', async () => {
  const post = <Answer>(path: string, body: unknown) => product().call<Answer>('POST', path, body, product().adminKey)
  const { id } = await post<{ id: string }>('/orgs', { name: 'Cranes', plan: 'pro' })
  const { key } = await post<{ key: string }>(`/orgs/${id}/api-keys`, { name: 'page', role: 'operator' })
  const { page } = await read('#/devices', { key })
  await page.getByRole('button', { name: 'Import CSV' }).click()
  const rows = [
    'serial,name,model,tags',
    'CSV-1,Cr\u00e4ne 1,RF-310,crane;port',
    'CSV-2,,RF-310,',
    'CSV-3,Crane 3,RF-310,',
  ]
  const buffer = Buffer.from(rows.join('\n'), 'latin1')
  await page.getByLabel('CSV file').setInputFiles({ name: 'cranes.csv', mimeType: 'text/csv', buffer })
  await page.getByRole('button', { name: 'Check file' }).click()
  await page.getByRole('status').getByText('Cr\u00e4ne 1').waitFor()
  await page.getByRole('status').getByText('2 devices to create, 1 line with mistakes').waitFor()
  await page.getByRole('button', { name: 'Import 2 devices as Windows-1252' }).click()
  await page.getByRole('status').getByText('2 created, 1 failed').waitFor()
  expect(await page.getByRole('status').getByRole('listitem').textContent()).toBe('Line 3: name is empty.')
  // Enter does not import the file again.
  await page.getByLabel('Update existing devices').press('Enter')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByLabel('Search by name').fill('CRA\u0308NE')
  await page.getByRole('link', { name: 'Cr\u00e4ne 1' }).waitFor()
  await expect.poll(() => page.getByRole('table').locator('tbody tr').count()).toBe(1)
})

test('shows the fleet as a table without WebGL, and says why', async () => {
  const before = `
    const getContext = HTMLCanvasElement.prototype.getContext
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
      return kind === 'webgl2' || kind === 'webgl' ? null : getContext.call(this, kind, ...rest)
    }`
  const [truck] = await movingVehicles(product())
  const { page } = await read(`#/map?device=${truck?.deviceId}`, { before })
  await page.getByText('WebGL 2 is not available or is switched off').waitFor()
  const opened = page.getByRole('link', { name: 'Open the selected device' })
  expect(await opened.getAttribute('href')).toContain(truck?.deviceId)
  expect(await page.getByRole('link', { name: 'Show map' }).count()).toBe(0)
  await page.getByLabel('Search by name').fill(truck?.name ?? '')
  await page.getByRole('link', { name: truck?.name ?? '', exact: true }).click()
  await page.getByRole('heading', { name: truck?.name ?? '' }).waitFor()
  await page.getByText('Trips and dwells of the day are listed below.').waitFor()
  await page.goto(`${product().url}/#/alerts?tab=places&place=new`)
  await page.getByText('Type the coordinates of the area instead.').waitFor()
})

test('names the missing scope when a key cannot read the fleet', async () => {
  const path = `/orgs/${product().organizationId}/api-keys`
  const body = { name: 'registry only', scopes: ['device:read', 'org:read'] }
  const { key } = await product().call<{ key: string }>('POST', path, body, product().adminKey)
  const { page } = await read('#/map', { key, expectedStatuses: [403] })
  await page.getByRole('alert').getByText('Permission denied').waitFor()
  expect(await page.getByRole('alert').textContent()).toContain('fleet:read')
})

test('names the missing scope when a view needs an organization', async () => {
  const path = `/orgs/${product().organizationId}/api-keys`
  const body = { name: 'groups only', scopes: ['group:read', 'config:read', 'job:read'] }
  const { key } = await product().call<{ key: string }>('POST', path, body, product().adminKey)
  const { page } = await read('#/groups', { key, expectedStatuses: [403] })
  for (const view of ['Groups', 'Profiles', 'Jobs']) {
    await page.getByRole('link', { name: view }).click()
    await page.getByRole('alert').getByText('org:read').waitFor()
  }
})

test('returns to the sign-in with a reason when the key is revoked', async () => {
  const path = `/orgs/${product().organizationId}/api-keys`
  const body = { name: 'for a moment', role: 'viewer' }
  const { id, key } = await product().call<{ id: string; key: string }>('POST', path, body, product().adminKey)
  const { page } = await read('#/jobs', { key, expectedStatuses: [401] })
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  await fetch(`${product().url}${path}/${id}`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${product().adminKey}` },
  })
  await page.getByRole('alert').getByText('revoked or has expired').waitFor()
  await page.getByLabel('API key').fill(product().demoKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
})

const attribution = (page: Page) => page.locator('.maplibregl-ctrl-attrib').textContent()

test('draws the fleet above a configured style, and above satellite images at a click', async () => {
  const tiles = await serveStyle()
  const settings = {
    MAP_STYLE_URL: `${tiles.url}/style.json`,
    MAP_SATELLITE_URL: `${tiles.url}/images/{z}/{x}/{y}.png`,
    MAP_SATELLITE_ATTRIBUTION: 'Test images',
  }
  const served = await servePage(product().url, settings)
  const { page, seesMap } = await read('#/map', { otherOrigins: [tiles.url] }, served.url)
  await expect.poll(() => attribution(page)).toBe('Test streets')
  await expect.poll(() => tiles.paths.some((path) => /^\/streets\/\d+\/\d+\/\d+\.png$/.test(path))).toBe(true)
  await seesMap()
  await page.getByRole('button', { name: 'Satellite images' }).click()
  await expect.poll(() => attribution(page)).toBe('Test images')
  expect(parameters(page).get('background')).toBe('satellite')
  await expect.poll(() => mapLabel(page)).toMatch(/^Map, [1-9]\d* devices in view$/)
  await page.getByRole('button', { name: 'Satellite images' }).click()
  await expect.poll(() => attribution(page)).toBe('Test streets')
  await page.close()
  served.close()
  tiles.close()
})

test('draws a PMTiles file without a request to another origin', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-pmtiles-'))
  const file = join(folder, 'world.pmtiles')
  await writeFile(file, pmtilesWorld('Test world'))
  const served = await servePage(product().url, { MAP_PMTILES_FILE: file })
  const { page, seesMap } = await read('#/map?lon=8&lat=50&z=4', {}, served.url)
  await expect.poll(() => attribution(page)).toContain('Test world')
  await seesMap()
  const drawn = page.locator('[data-background="map"]')
  await drawn.waitFor()
  await page.close()
  served.close()
  await rm(folder, { recursive: true })
})

test('works behind a path prefix', async () => {
  const proxy = await serveBelow('/tools/routerfleet', product().url)
  const { page, seesMap } = await read('', {}, proxy.url)
  const outside: string[] = []
  page.on('request', (request) => {
    if (request.url().startsWith('http') && !request.url().startsWith(proxy.url)) outside.push(request.url())
  })
  await seesMap()
  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page
    .getByRole('link', { name: /^Site 0/ })
    .first()
    .waitFor()
  expect(outside).toEqual([])
  proxy.close()
})

test.for(['', '/tools/routerfleet'])(
  'shows the API reference and sends a request from it, below "%s"',
  async (prefix) => {
    const proxy = prefix ? await serveBelow(prefix, product().url) : undefined
    // The slash at the end redirects, so that relative addresses keep their base.
    const { page, problems } = await read('docs/', { key: undefined }, proxy?.url)
    expect(new URL(page.url()).pathname).toBe(`${prefix}/docs`)
    const { paths, webhooks } = await product().call<Record<'paths' | 'webhooks', Record<string, object>>>(
      'GET',
      '/openapi.json',
    )
    const operations = page.locator('.opblock')
    await expect
      .poll(() => operations.count(), { timeout: minute })
      .toBe([paths, webhooks].flatMap(Object.values).flatMap((methods) => Object.keys(methods)).length)
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.getByLabel('auth-bearer-value').first().fill(product().demoKey)
    await page.getByRole('button', { name: 'Apply credentials' }).first().click()
    await page.getByRole('button', { name: 'Close' }).first().click()
    const listDevices = page.locator('#operations-Devices-listDevices')
    await listDevices.getByRole('button').first().click()
    const samples = listDevices.getByRole('region', { name: 'Code samples' })
    for (const [language, code] of [
      ['curl', `${proxy?.url ?? product().url}/devices`],
      ['TypeScript', "fleet.get('/devices')"],
      ['Python', 'requests.get('],
    ] as const) {
      await samples.getByRole('button', { name: language }).click()
      await expect.poll(() => samples.locator('code').textContent()).toContain(code)
    }
    await listDevices.getByRole('button', { name: 'Try it out' }).click()
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === `${prefix}/devices`)
    await listDevices.getByRole('button', { name: 'Execute' }).click()
    expect((await answered).status()).toBe(200)
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain(
      product().demoKey,
    )
    expect(problems).toEqual([])
    proxy?.close()
  },
)

/** An encoded polyline. */
const alongGermany = '_c`lHo}{q@_ibEnnqC'

test.for(['dark', 'light'] as const)(
  'has no serious accessibility violation in the %s theme',
  { timeout: 2 * minute },
  async (colorScheme) => {
    const [truck] = await movingVehicles(product())
    const { items } = await product().call<{ items: { id: string }[] }>(
      'GET',
      `/orgs/${product().organizationId}/groups`,
    )
    const { page, seesMap } = await read(`#/map?device=${truck?.deviceId}`, { colorScheme })
    await seesMap()
    const found: Record<string, Violation[]> = {}
    const look = async (view: string, sight: string) => {
      await page.locator(sight).first().waitFor()
      const seen = await violations(page)
      if (seen.length > 0) found[view] = seen
    }
    const go = (place: string) => page.evaluate(`location.hash = ${JSON.stringify(place)}`)
    await look('device panel', '.device-panel .u-legend')
    await go('#/map?q=truck')
    await look('search', '[aria-label="Found devices"] li')
    await go('#/map?panel=dead-zones')
    await look('dead zones', '.ranking, .panel-note')
    await go(`#/map?panel=route&route=${encodeURIComponent(alongGermany)}`)
    await look('route', '[aria-label="Route forecast"] :is(table, .panel-note)')
    await go('#/map?as=table')
    await look('fleet table', 'table')
    await go('#/overview')
    await look('overview', 'section[aria-label="Firmware"] ul')
    await go('#/devices')
    await look('devices', 'a[href*=device]')
    await page.getByRole('button', { name: 'Import CSV' }).click()
    await look('import', 'dialog')
    await page.keyboard.press('Escape')
    await go('#/groups')
    await look('groups', 'table')
    await go(`#/groups?group=${items[0]?.id}`)
    await look('group', 'table')
    await go('#/profiles')
    await look('profiles', 'table')
    await page.getByRole('button', { name: 'Edit' }).click()
    await look('profile form', 'dialog')
    await page.keyboard.press('Escape')
    await page.getByRole('table').getByRole('link').first().click()
    await look('profile', '.panel[aria-label=Devices]')
    await go('#/jobs')
    await look('jobs', 'table, .state')
    await go('#/jobs?show=firmware')
    await look('firmware', 'table, .state')
    await go('#/jobs?new=firmware_update&target=matching')
    await page.getByRole('button', { name: 'In stages' }).click()
    await look('new job', 'form[aria-label="New job"] ol')
    await page.getByRole('button', { name: /^Account/ }).click()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await look('sign-in', 'main h1')
    expect(found).toEqual({})
  },
)

// The tests below need the positions of all devices, so they are last. A truck of the demo fleet may begin in a tunnel and report
// minutes later.
const allReport = { timeout: 4 * minute }

test('keeps the API key in session storage only, and removes it on sign-out', { timeout: 6 * minute }, async () => {
  const { page, seesMap } = await read('', { key: undefined, expectedStatuses: [401] })
  await page.getByLabel('API key').fill('flk_nobody_knows_this_one')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('Invalid API key').waitFor()

  await page.getByLabel('API key').fill(product().demoKey)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await seesMap()
  await expect.poll(() => shownCount(page), allReport).toBe('200')
  const stored = (storage: string) => page.evaluate<string>(`JSON.stringify({ ...${storage} })`)
  expect(await stored('sessionStorage')).toContain(product().demoKey)
  expect(await stored('localStorage')).not.toContain(product().demoKey)
  expect(page.url()).not.toContain(product().demoKey)
  expect(await page.context().cookies()).toEqual([])

  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('API key').waitFor()
  expect(await stored('sessionStorage')).not.toContain(product().demoKey)
})

test('filters the fleet, and keeps filters and the selected device after a reload', {
  timeout: 6 * minute,
}, async () => {
  const [truck] = await movingVehicles(product())
  const { page, seesMap } = await read(`#/map?device=${truck?.deviceId}`)
  await seesMap()
  // Beside a device, the filters are folded, so that the map keeps its width, but not those of a search.
  await page.getByRole('button', { name: 'Show filters' }).click()
  await page.getByLabel('Group').selectOption({ label: 'Trucks (140)' })
  await expect.poll(() => shownCount(page), allReport).toBe('140')
  await page.getByLabel('Find a device by name').fill('truck 00')
  await expect.poll(() => shownCount(page)).toBe('9')
  await page.getByRole('button', { name: 'SINR' }).click()

  await page.reload()
  await expect.poll(() => shownCount(page)).toBe('9')
  await page.getByRole('heading', { name: truck?.name ?? '', exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'SINR' }).getAttribute('aria-pressed')).toBe('true')
  expect(parameters(page).get('q')).toBe('truck 00')
})

const isDeviceTile = (url: string) => url.includes('.mvt') && url.includes('layers=devices')

test('draws the whole fleet from tiles whose counts add up, and never reads it as one list', {
  timeout: 6 * minute,
}, async () => {
  const { page, seesMap } = await read('#/jobs')
  const asked: string[] = []
  const tiles = new Map<string, number>()
  page.on('request', (request) => asked.push(request.url()))
  // The map may abort a request whose tile has left the view, and Chromium then has no body of it.
  await page.route(
    ({ href }) => isDeviceTile(href),
    async (route) => {
      const response = await route.fetch()
      const [, tile = ''] = /tiles\/(\d+\/\d+\/\d+)\.mvt/.exec(response.url()) ?? []
      const { devices = [] } = response.status() === 200 ? decodeTile(await response.body(), tile) : {}
      if (response.status() !== 304)
        tiles.set(
          tile,
          devices.reduce((sum, { properties }) => sum + Number(properties.count ?? 1), 0),
        )
      await route.fulfill({ response })
    },
  )
  await page.evaluate("location.hash = '#/map'")
  await seesMap()
  await expect.poll(() => mapLabel(page), allReport).toBe('Map, 200 devices in view')
  await expect.poll(() => shownCount(page)).toBe('200')
  const zoom = () => `${Math.floor(Number(parameters(page).get('z')))}/`
  const inTiles = () => [...tiles].reduce((sum, [tile, count]) => sum + (tile.startsWith(zoom()) ? count : 0), 0)
  await expect.poll(inTiles).toBe(200)
  const lists = asked.filter((url) => /\/fleet\/(gps|coverage|dwells)/.test(url) && !url.includes('deviceId='))
  expect(lists).toEqual([])
})

test('never draws tiles of another organization after the reader chose one', { timeout: 6 * minute }, async () => {
  const van = await registerVan(product(), 'Lone van')
  await van.reportAt([10, 51])
  const { page } = await read(`#/map?org=${product().organizationId}`, { key: product().adminKey })
  await expect.poll(() => mapLabel(page), allReport).toBe('Map, 200 devices in view')
  // From now on, tiles of the first organization arrive only after the other one is chosen.
  const held: (() => void)[] = []
  await page.route(
    (url) => isDeviceTile(url.href) && url.href.includes(product().organizationId),
    (route) => new Promise<void>((resolve) => held.push(resolve)).then(() => route.continue().catch(() => {})),
  )
  await expect.poll(() => held.length).toBeGreaterThan(0)
  await page.getByLabel('Organization').selectOption(van.organizationId)
  await expect.poll(() => mapLabel(page)).toBe('Map, 1 device in view')
  for (const release of held) release()
  const isNext = (url: string) => isDeviceTile(url) && url.includes(van.organizationId)
  for (let round = 0; round < 2; round++) {
    await page.waitForResponse((response) => isNext(response.url()))
    expect(await mapLabel(page)).toBe('Map, 1 device in view')
  }
  expect(await shownCount(page)).toBe('1')
})

testWorldMap(session)

test('shows the weak antennas on the overview, on the page of the device and in the table', {
  timeout: 4 * minute,
}, async () => {
  const { call, adminKey, organizationId } = product()
  const weakRouters = async () => {
    await call('POST', `/orgs/${organizationId}/radio-health-runs`, undefined, adminKey)
    const { items } = await call<{ items: { deviceName: string }[] }>('GET', '/fleet/radio-health?status=fault')
    return items.map(({ deviceName }) => deviceName).sort()
  }
  await expect
    .poll(weakRouters, { timeout: 3 * minute, interval: 3_000 })
    .toEqual(['Truck 131 Rotterdam–Arnhem', 'Van 026 München'])

  // A busy machine limits the reads of the many cards, which are then repeated.
  const { page } = await read('#/overview', { expectedStatuses: [429] })
  await page.getByRole('region', { name: 'Weak antennas' }).getByRole('link', { name: 'Van 026 München' }).click()
  await page.getByRole('region', { name: 'Radio health' }).getByText('Weak antenna').waitFor()
  await page.getByRole('link', { name: 'Devices', exact: true }).first().click()
  await page.getByLabel('Search by name').fill('Van 026')
  await page
    .getByRole('row', { name: /Van 026/ })
    .getByText(/^Weak antenna, −\d/)
    .waitFor()
})
