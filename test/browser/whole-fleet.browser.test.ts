import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { decodeTile } from '#test/tiles'
import { accessibilityOf, violations } from './axe.ts'
import { mapLabel, parameters, pixelOf, shownCount } from './map-page.ts'
import { serveBelow } from './path-prefix.ts'
import { movingVehicles } from './product.ts'
import { registerVan } from './reported-van.ts'
import { browserSession } from './session.ts'

// Tests the web page in Chromium with the demo fleet of `npm start` in its full size.

const minute = 60_000
// After a fresh start, the first coverage cells take a minute.
vi.setConfig({ testTimeout: 2 * minute })
const { product, read } = browserSession()

test('finds a device by a part of its name, lists it, and moves the map to it', async () => {
  const [truck] = await movingVehicles(product())
  const { page, seesMap } = await read('#/map', { reducedMotion: 'no-preference' })
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
  const { page, seesMap } = await read(`#/map?lon=${lon}&lat=${lat}&z=9&q=${truck?.name}&metric=off`)
  await expect.poll(() => shownCount(page)).toBe('1')
  const canvas = page.getByRole('region', { name: /^Map,/ })
  // The truck moves while the page loads, so click its newest position until its panel opens. At this zoom, it moves slowly.
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
  // The trip may end meanwhile.
  const pause = page.getByRole('button', { name: 'Pause' })
  const isPlaying = async () => {
    await pause.click({ timeout: 10_000 }).catch(() => {})
    return pause.isVisible()
  }
  await expect.poll(isPlaying).toBe(false)
  const position = panel.locator('dt', { hasText: /^Position$/ }).locator('+ dd')
  await expect.poll(() => position.textContent()).toMatch(/^(\d+ km .* of|in) .* earlier$/)
  expect(await panel.getByRole('heading', { name: 'Health' }).count()).toBe(0)

  const follow = page.getByRole('button', { name: 'Follow' })
  expect(await follow.getAttribute('aria-pressed')).toBe('true')
  const map = page.getByRole('region', { name: /^Map,/ })
  await map.focus()
  // A press moves the map a part of the way, until the next one.
  const stillFollows = async () => {
    await map.press('ArrowUp')
    return follow.getAttribute('aria-pressed')
  }
  await expect.poll(stillFollows, { interval: 400 }).toBe('false')
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

test('shows the fleet as a table with the same filters', async () => {
  const { page } = await read('#/map?as=table')
  const rows = page.getByRole('table', { name: 'Devices' }).locator('tbody tr')
  await expect.poll(() => rows.count()).toBe(100)
  await page.getByLabel('Search by name').fill('ship 0')
  await expect.poll(() => rows.count()).toBe(24)
  await rows.first().getByRole('link').click()
  await page.getByRole('heading', { name: /Ship 0/ }).waitFor()
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
    const dialog = page.locator('.dialog-ux')
    expect(await violations(page, { parts: ['.dialog-ux', '.information-container', '.scheme-container'] })).toEqual([])
    await dialog.getByRole('button', { name: 'Authorize' }).first().click()
    await dialog.getByRole('button', { name: 'Close' }).first().click()
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
    expect(await violations(page, { parts: ['#operations-Devices-listDevices'] })).toEqual([])
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

test('has no serious accessibility violation in either theme', { timeout: 6 * minute }, async () => {
  const [truck] = await movingVehicles(product())
  const { items } = await product().call<{ items: { id: string }[] }>('GET', `/orgs/${product().organizationId}/groups`)
  const { page, seesMap } = await read(`#/map?device=${truck?.deviceId}`)
  await seesMap()
  const { look, found } = accessibilityOf(page)
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
})

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
