import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { pmtilesWorld } from '#test/pmtiles'
import { violations } from './axe.ts'
import { servePage, serveStyle } from './map-background.ts'
import { mapLabel, parameters, pixelOf, shownCount } from './map-page.ts'
import { serveBelow } from './path-prefix.ts'
import { movingVehicles } from './product.ts'
import { reportRoad, road, roadIsCounted, type SurveyedRoad } from './reported-road.ts'
import { reportStops, stops } from './reported-stops.ts'
import { type ReportedVan, registerVan, reportStored } from './reported-van.ts'
import { openView, phone, tooSmallToTouch } from './screens.ts'
import { browserSession } from './session.ts'
import { testWorldMap, worldMapIsBuilt } from './world-map.ts'

// Tests the web page in Chromium, against a product started like `npm start`. Most tests have devices of their own, so the demo
// fleet is small. whole-fleet.browser.test.ts has the others.

const minute = 60_000
// After a fresh start, the first coverage cells take a minute.
vi.setConfig({ testTimeout: 2 * minute })
let surveyed: SurveyedRoad
let stopped: ReportedVan
const session = browserSession({
  devices: 40,
  prepare: async (product) => {
    surveyed = await reportRoad(product)
    stopped = await reportStops(product)
    await worldMapIsBuilt(product)
  },
})
const { product, read } = session

/** For tests that look for the colors of thin lines. */
const fullScale = { deviceScaleFactor: 1 }

/** As red, green and blue: a weak, a good and an unknown signal. */
const trailColors = ['253,174,97', '171,217,233', '139,147,156']

test('edits a profile and replaces its secret, which no response ever contains', async () => {
  const { page, answers } = await read('#/profiles', { keepsAnswers: true })
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
  expect(await row.textContent()).toContain('Wi-Fi: Password set')
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
  await page.getByLabel(/^Name, serial or model/).fill('RF-')
  await page.getByText('The first 20 devices are shown.').waitFor()
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
  const { page } = await read(`#/device?id=${van.deviceId}&org=${van.organizationId}`, { key: van.key, ...fullScale })
  const cards = page.getByRole('region', { name: 'Modems' }).locator('.card')
  await expect
    .poll(() => cards.allTextContents())
    .toEqual([
      expect.stringMatching(/^wwan0 Active.*Vodafone.*−90 dBm.*connected.*12\.3 MB.*1\.0 MB$/),
      expect.stringMatching(/^wwan1 .*No service.*SIM of 20408.*disconnected.*–$/),
    ])
  const outages = page.getByRole('list', { name: 'Times without service' }).getByRole('listitem')
  await expect.poll(() => outages.allTextContents()).toEqual([expect.stringMatching(/, wwan1.*1 min$/)])
  await page.getByText('All modems at once: never in this time range').waitFor()
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
  await panel.getByText('wwan1: 1 min. All modems at once: never in this time range').waitFor()
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
  await reportStored(product(), { deviceId: id, token }, samples)

  const { page } = await read(`#/map?org=${organizationId}`, { key: ship.key, ...fullScale })
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

/** Returns in which part of the columns of a map a trail is drawn. Needs a page at full scale. */
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
  // The plan has a history of 90 days.
  await page.goto(
    `${product().url}/#/map?org=${van.organizationId}&metric=off&from=${iso(400 * 24)}&to=${iso(390 * 24)}`,
  )
  await page.getByText('No devices in this time range').waitFor()
  await page.getByText(/^The history of your plan begins on .* Nothing is shown from before\.$/).waitFor()
})

test('advises a truck with two operators, one of them failing, to have the other one', {
  timeout: 6 * minute,
}, async () => {
  const { call, adminKey } = product()
  const { organizationId, deviceId, key, report } = await registerVan(product(), 'Truck of two operators')
  const minutes = 60
  // wwan0 loses its operator in a third of the same minutes in which wwan1 has service.
  await report(
    Array.from({ length: minutes }, (_, ago) => {
      const at = { kind: 'cellular', ts: Date.now() - ago * minute, lat: 57.5, lon: -4.5, accuracyM: 5, fixAgeMs: 0 }
      const served = { rat: 'lte', rsrpDbm: -95, sinrDb: 9 }
      return [
        {
          ...at,
          modem: 'wwan0',
          plmn: '23410',
          ...(ago % 3 === 0 ? { rat: 'none' } : served),
        },
        { ...at, modem: 'wwan1', plmn: '23415', ...served },
      ]
    }).flat(),
  )
  const advice = async () => {
    await call('POST', `/orgs/${organizationId}/radio-health-runs`, {}, adminKey)
    const { items } = await call<{ items: { modem: string; bestPlmn: string | null }[] }>(
      'GET',
      `/fleet/sim-advice?orgId=${organizationId}`,
      undefined,
      key,
    )
    return items.map(({ modem, bestPlmn }) => [modem, bestPlmn])
  }
  await expect.poll(advice, { timeout: 4 * minute, interval: 3_000 }).toEqual([
    ['wwan0', '23415'],
    ['wwan1', null],
  ])

  const { page } = await read(`#/overview?org=${organizationId}`, { key })
  const wrong = page.getByRole('listitem').filter({ hasText: 'Truck of two operators, wwan0' })
  const textOf = async (shown: Locator) => (await shown.textContent())?.replaceAll('\u00a0', ' ')
  await expect
    .poll(() => textOf(wrong))
    .toMatch(/Kingdom · 23410: [\d.]+ min a day without service\. United Kingdom · 23415: 0\.0 min a day\.$/)
  await wrong.getByRole('link').click()
  await expect.poll(() => page.url()).toContain(deviceId)
  const times = page.getByRole('region', { name: 'Time without service' })
  await expect
    .poll(() => textOf(times))
    .toMatch(
      /Kingdom · 23410[\d.]+ min a day todayUnited Kingdom · 234150\.0 min a day.*wwan1United Kingdom · 234150\.0 min a day today/,
    )
})

type DeadZone = { id: string; lat: number; lon: number; noServiceS: number; serviceRatio: number }

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
  const dead = items.findIndex(({ serviceRatio }) => serviceRatio < 0.9)
  expect(await entries.nth(dead).textContent()).toContain(
    `Service ${Math.floor((items[dead]?.serviceRatio ?? 1) * 100)} % of the time`,
  )
  const [worst] = items
  await entries.first().getByRole('button').click()
  await expect.poll(() => parameters(page).get('zone')).toBe(worst?.id)
  await expect.poll(() => Math.abs(Number(parameters(page).get('lat')) - (worst?.lat ?? 0))).toBeLessThan(0.5)
  expect(Number(parameters(page).get('z'))).toBeGreaterThan(9)
  expect(await entries.first().getByRole('button').getAttribute('aria-current')).toBe('true')
})

test('lists more trips and dead zones than a page has, and shows a linked zone that is not listed', {
  timeout: 6 * minute,
}, async () => {
  const list = () => product().call<{ items: DeadZone[] }>('GET', '/fleet/dead-zones?limit=200', undefined, stopped.key)
  await expect
    .poll(async () => (await list()).items.length, { timeout: 4 * minute, interval: 3_000 })
    .toBeGreaterThanOrEqual(stops)
  const { items } = await list()
  const last = items.at(-1)

  const { page } = await read(`#/device?id=${stopped.deviceId}&org=${stopped.organizationId}`, { key: stopped.key })
  const trips = page.getByRole('region', { name: 'Trips' })
  const more = trips.getByRole('button', { name: 'Show more' })
  for (const shown of [5, 20, 40, stops]) {
    await expect.poll(() => trips.getByRole('listitem').count()).toBe(shown)
    if (shown < stops) await more.click()
  }
  expect(await more.count()).toBe(0)

  await page.goto(`${product().url}/#/map?panel=dead-zones&zone=${last?.id}&org=${stopped.organizationId}`)
  const panel = page.getByRole('complementary', { name: 'Dead zones' })
  const linked = panel.locator('[aria-current=true]')
  await expect.poll(() => panel.getByRole('listitem').count()).toBe(51)
  expect(await linked.textContent()).toMatch(/^…/)
  await expect.poll(() => Math.abs(Number(parameters(page).get('lat')) - (last?.lat ?? 0))).toBeLessThan(0.5)
  await panel.getByRole('button', { name: 'Show more' }).click()
  await expect.poll(() => panel.getByRole('listitem').count()).toBe(items.length)
  expect(await linked.textContent()).toMatch(/^\d/)
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

const headline = ({ noServiceS }: DeadZone) => {
  if (noServiceS === 0) return 'Signal too weak'
  const minutes = noServiceS / 60
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

/** The names of controls that change something. */
const changing =
  /^(Acknowledge|Add|Apply|Cancel|Change|Create|Delete|Disable|Edit|Enable|Import|Issue|New|Pause|Reboot|Remove|Resume|Retry|Revoke|Roll|Save|Set|Transfer|Update)\b(?! view)|is enabled$/

test('shows a viewer no control that the service would refuse', { timeout: 2 * minute }, async () => {
  const { organizationId, deviceId, key } = await registerVan(product(), 'Watched van')
  const created = async (what: string, body: object) => {
    const path = `/orgs/${organizationId}/${what}`
    return (await product().call<{ id: string }>('POST', path, body, product().adminKey)).id
  }
  const group = await created('groups', { name: 'Vans' })
  const profile = await created('configs', { name: 'Standard router', settings: { wifi: { ssid: 'fleet' } } })
  const circle = { type: 'Circle', lat: 52, lon: 5, radiusM: 500 }
  const place = await created('places', { name: 'Depot', area: circle })
  const { page, problems } = await read('#/devices', { key })
  for (const [view, sight] of [
    ['devices', 'tbody tr'],
    [`device?id=${deviceId}`, '[aria-label=Tokens]'],
    [`map?device=${deviceId}`, '.device-panel .toolbar'],
    ['alerts?tab=rules', '.state'],
    ['alerts?tab=places', 'tbody tr'],
    [`alerts?tab=places&place=${place}`, '[name=name]'],
    ['groups', 'tbody tr'],
    [`groups?group=${group}`, '.page-head .button'],
    ['profiles', 'tbody tr'],
    [`profiles?profile=${profile}`, '[aria-label=Settings]'],
    ['jobs', '.state'],
    ['jobs?show=firmware', '.state'],
  ] as const) {
    await page.evaluate(`location.hash = '#/${view}'`)
    await page.locator('main').locator(sight).first().waitFor()
    const controls: string[] = await page
      .locator('main :is(button, a.button, input[role=switch]):not(:disabled)')
      .evaluateAll((found) => found.map(({ ariaLabel, textContent }) => (ariaLabel ?? textContent ?? '').trim()))
    expect([view, controls.filter((name) => changing.test(name))]).toEqual([view, []])
  }
  expect(problems).toEqual([])
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

testWorldMap(session)
