import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { createJobRouters, type JobRouters } from './job-routers.ts'
import { screens, tooSmallToTouch } from './screens.ts'
import { browserSession } from './session.ts'

// Tests jobs and firmware on the page, with routers that the tests drive through the device edge; and config profiles: the form,
// conflicts, versions and the way back to one.

const minute = 60_000
// Beside other products and browsers, some take four times as long as alone.
vi.setConfig({ testTimeout: 4 * minute })
const { product, read } = browserSession({ devices: 100 })

const facts = (page: Page) => page.getByRole('main')
const stage = (page: Page, number: number) =>
  page
    .getByRole('list', { name: 'Stages' })
    .getByRole('listitem')
    .nth(number - 1)

/** The routers report the end of their jobs as soon as they get them. */
const runJobs = (routers: JobRouters, count: number, status: 'succeeded' | 'failed', detail: string) => {
  let ran = 0
  return expect
    .poll(
      async () => {
        ran += await routers.runJobs(status, detail)
        return ran
      },
      { timeout: minute },
    )
    .toBe(count)
}

test.for(screens)(
  'on a %s, rolls firmware out in two stages: the first one fails, is resumed, and the rest follows',
  async ([screen, options]) => {
    const routers = await createJobRouters(product(), 4)
    const { page } = await read('#/jobs', { key: routers.key, expectedStatuses: [400], ...options })
    await page.getByRole('link', { name: 'Firmware' }).click()
    await page.getByText('No firmware yet').waitFor()
    await page.getByRole('button', { name: 'Add firmware' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add firmware' })
    await dialog.getByLabel('Version').fill('7.2.1')
    await dialog.getByLabel('Address (https)').fill('https://10.0.0.7/rx-500.bin')
    await dialog.getByLabel('SHA-256').fill('a'.repeat(64))
    await dialog.getByLabel(/^Models/).fill('RX-500')
    await dialog.getByRole('button', { name: 'Add' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Address (https)').fill('https://downloads.example.com/rx-500.bin?signature=hidden')
    await dialog.getByRole('button', { name: 'Add' }).click()
    const row = page.getByRole('table', { name: 'Firmware' }).getByRole('row', { name: /7\.2\.1/ })
    await row.waitFor()
    expect(await row.textContent()).not.toContain('signature')

    await row.getByRole('link', { name: 'Roll out' }).click()
    await page.getByRole('button', { name: 'In stages' }).click()
    await page.getByLabel('Size of stage 1').fill('1')
    await page.getByRole('button', { name: 'Remove stage 2' }).click()
    await page.getByLabel('Limit (% of the devices so far)').fill('50')
    await page.getByLabel('Group').selectOption({ label: 'Ferries (5)' })
    await page.getByText('Stage 1: 1 · Stage 2: 4').waitFor()
    if (screen === 'phone') expect(await tooSmallToTouch(page)).toEqual([])
    await page.getByRole('button', { name: 'Firmware update: 5 devices' }).click()
    const question = page.getByRole('dialog', { name: 'Install 7.2.1 on 5 devices?' })
    await question
      .getByText('4 devices get a job. 1 skipped: The job does not support the model of the device.')
      .waitFor()
    expect(await question.getByRole('list', { name: 'Planned stages' }).getByRole('listitem').count()).toBe(2)
    await question.getByRole('button', { name: 'Firmware update' }).click()

    await page.getByRole('heading', { name: 'Jobs / Firmware update' }).waitFor()
    const text = () => facts(page).textContent()
    expect(await text()).toContain('Firmware 7.2.1')
    expect(await text()).toContain('Group Ferries')
    expect(await text()).toContain('Anna')
    await page.getByText('1 device skipped').click()
    await page.getByRole('list', { name: 'Skipped devices' }).getByText('The job does not support the model').waitFor()

    await runJobs(routers, 1, 'failed', 'Not enough flash memory.')
    await page.getByText('paused: too many failures').waitFor()
    await page.getByRole('table', { name: 'Jobs of this batch' }).getByText('Not enough flash memory.').waitFor()
    expect(await stage(page, 2).textContent()).toContain('Waiting')
    expect(await routers.runJobs('succeeded', 'Running 7.2.1.')).toBe(0)

    await page.getByRole('button', { name: 'Resume' }).click()
    const confirm = page.getByRole('dialog', { name: 'Resume this batch?' })
    await confirm.getByText('Failures so far: 1.').waitFor()
    await confirm.getByRole('button', { name: 'Resume' }).click()
    await runJobs(routers, 3, 'succeeded', 'Running 7.2.1.')
    await page.getByText('3 of 4 succeeded · finished').waitFor()
    await expect.poll(() => stage(page, 2).textContent()).toContain('Finished')
    await expect.poll(() => page.getByText('Running 7.2.1.').count()).toBe(3)
  },
)

test('creates jobs that wait for good signal, and shows what each waits for', async () => {
  const routers = await createJobRouters(product(), 1)
  const { page } = await read('#/jobs?new=collect_diagnostics', { key: routers.key })
  await page.getByLabel('Group').selectOption({ label: 'Ferries (2)' })
  await page.getByLabel('Wait for').selectOption('Good signal')
  await page.getByLabel('Signal at least').selectOption('Fair')
  await page.getByLabel(/^At the latest by/).fill('2099-01-01T04:00')
  await page.getByLabel('Then').selectOption('Let the job expire')
  await page.getByRole('button', { name: 'Collect diagnostics: 2 devices' }).click()
  const question = page.getByRole('dialog', { name: 'Collect diagnostics of 2 devices?' })
  await question.getByText('Each router takes its job at a good moment.').waitFor()
  await question.getByRole('button', { name: 'Collect diagnostics' }).click()
  await page.getByText(/Fair signal or better; expires at the latest on .*2099/).waitFor()
  await page.getByText('2 jobs wait for a good moment: 2 no signal reported').waitFor()
  const row = page.getByRole('table', { name: 'Jobs of this batch' }).getByRole('row', { name: /Ferry 1/ })
  const reportUntil = (rsrpDbm: number, state: string) =>
    expect
      .poll(
        async () => {
          await routers.reportSignal(rsrpDbm)
          return row.textContent()
        },
        { timeout: minute },
      )
      .toContain(state)
  await reportUntil(-112, 'Waits: signal too weak')
  await page.getByText('2 jobs wait for a good moment: 1 no signal reported, 1 signal too weak').waitFor()
  await row.getByRole('link', { name: 'Details' }).click()
  await page.getByText('Dispatched, waits for a good moment: signal too weak').waitFor()
  await page.goBack()
  await routers.reportSignal(-80)
  await runJobs(routers, 1, 'succeeded', 'Collected.')
  await page.getByText('1 of 2 succeeded').waitFor()
  await page.getByText('1 job waits for a good moment: 1 no signal reported').waitFor()
})

test('lists the reboot of a single device, and cancels it after a confirmation', async () => {
  const routers = await createJobRouters(product(), 1)
  const { items } = await product().call<{ items: { id: string; name: string }[] }>(
    'GET',
    '/devices?q=Ferry 1',
    undefined,
    routers.key,
  )
  const ferry = items.find(({ name }) => name === 'Ferry 1')
  await product().call('POST', `/devices/${ferry?.id}/jobs`, { kind: 'reboot' }, routers.key)
  const { page } = await read('#/jobs', { key: routers.key })
  const row = page.getByRole('table', { name: 'Jobs' }).getByRole('row', { name: /Reboot.*Ferry 1/ })
  await row.getByRole('link', { name: 'Reboot' }).click()
  await page.getByRole('heading', { name: 'Jobs / Reboot: Ferry 1' }).waitFor()
  await page.getByRole('button', { name: 'Cancel job' }).click()
  const dialog = page.getByRole('dialog', { name: 'Cancel the job of Ferry 1?' })
  await dialog.getByRole('button', { name: 'Cancel job' }).click()
  await page.getByRole('table', { name: 'History of this job' }).getByText('Cancelled').waitFor()
  await page.getByRole('button', { name: 'Retry' }).waitFor()
})

test('reboots a device that the keyboard alone finds and chooses', async () => {
  const routers = await createJobRouters(product(), 2)
  const { page } = await read('#/jobs', { key: routers.key })
  await page.getByRole('link', { name: 'New job' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Create job: 0 devices' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Choose a group.').waitFor()
  // The first field with an error has the focus.
  await page.getByText('Choose what the routers do.').waitFor()
  expect(await page.evaluate<string>('document.activeElement.name')).toBe('kind')
  await page.keyboard.type('Reboot')
  await page.getByRole('button', { name: 'Devices', exact: true }).focus()
  await page.keyboard.press('Enter')
  await page.getByLabel(/^Name, serial or model/).focus()
  await page.keyboard.type('ferry ')
  const found = page.getByRole('checkbox', { name: /^Ferry/ })
  // The results appear while the reader types, and the space stays.
  await expect.poll(() => found.count()).toBe(3)
  await page.keyboard.type('2')
  await expect.poll(() => found.count()).toBe(1)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Space')
  await page.getByText('Selected: Ferry 2').waitFor()
  expect(await page.getByText('Choose what the routers do.').count()).toBe(0)
  await page.getByRole('button', { name: 'Reboot: 1 device' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Reboot 1 device?' }).getByRole('button', { name: 'Reboot' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Jobs / Reboot' }).waitFor()
  await runJobs(routers, 1, 'succeeded', 'Rebooted.')
  await page.getByText('1 of 1 succeeded · finished').waitFor()
})

async function newOrganization() {
  const { call, adminKey } = product()
  const { id } = await call<{ id: string }>('POST', '/orgs', { name: 'Ferries', plan: 'pro' }, adminKey)
  const { key } = await call<{ key: string }>(`POST`, `/orgs/${id}/api-keys`, { name: 'Anna', role: 'admin' }, adminKey)
  return { id, key }
}

test('creates a profile with the form, changes it, compares the versions, and rolls back', async () => {
  const { key } = await newOrganization()
  const { page, answers } = await read('#/profiles', { key, keepsAnswers: true })
  await page.getByRole('button', { name: 'New profile' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.textContent()).not.toMatch(/change-me|passphrase/)
  await dialog.getByLabel('Name', { exact: true }).fill('Depot')
  await dialog.getByLabel('Wi-Fi: Network name (SSID)').fill('depot')
  await dialog.getByLabel('Wi-Fi: Password').fill('correct')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('A Wi-Fi password has 8 to 63 characters.').waitFor()
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
  await differences.getByRole('row', { name: 'Wi-Fi: Network name (SSID) depot yard' }).waitFor()
  await differences.getByRole('row', { name: 'Reports: Interval in seconds Not set 30' }).waitFor()
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

test('sets variables of the organization, a group and a device, and sees which device lacks one', async () => {
  const { organizationId, key } = await createJobRouters(product(), 1)
  const { call } = product()
  const json = { wifi: { ssid: { $var: 'ssid' }, password: { $var: 'wifi_password' } } }
  const profile = { name: 'Depot', settings: json }
  const { id: profileId } = await call<{ id: string }>('POST', `/orgs/${organizationId}/configs`, profile, key)
  const { page, answers } = await read('#/profiles', { key, keepsAnswers: true, expectedStatuses: [400] })
  const dialog = page.getByRole('dialog', { name: 'Set variables' })
  const edit = async (name: string, kind: string, value: string) => {
    await page.getByRole('button', { name: 'Set variables' }).click()
    await dialog.getByLabel('Name 1').fill(name)
    await dialog.getByLabel('Type 1').selectOption(kind)
    await dialog.getByLabel('Value 1').fill(value)
    await dialog.getByRole('button', { name: 'Save' }).click()
  }
  await edit('device.name', 'Text', 'harbour')
  await dialog.getByText(/^Use a letter or _/).waitFor()
  await dialog.getByLabel('Name 1').fill('ssid')
  await dialog.getByRole('button', { name: 'Save' }).click()
  const table = page.getByRole('table', { name: 'Variables' })
  await table.getByRole('row', { name: 'ssid harbour' }).waitFor()

  await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Groups' }).click()
  await page.getByRole('link', { name: 'Ferries' }).click()
  await edit('ssid', 'Text', 'ferry')
  await table.getByRole('row', { name: 'ssid ferry' }).waitFor()

  await page.getByRole('link', { name: 'Ferry 1', exact: true }).click()
  await page.getByRole('button', { name: 'Settings for this device' }).click()
  const preview = page.getByRole('dialog', { name: 'Settings for Ferry 1' })
  await preview.getByLabel('Profile').selectOption({ label: 'Depot, version 1' })
  await preview.getByText('wifi_password has no value').waitFor()
  await preview.getByRole('row', { name: 'ssid ferry Ferries (priority 0)' }).waitFor()
  await preview.getByRole('button', { name: 'Close' }).click()
  await edit('wifi_password', 'Secret text', 'correct horse')
  await table.getByRole('row', { name: 'wifi_password Secret, set' }).waitFor()

  await page.goto(`${page.url().split('#')[0]}#/jobs?new=apply_config&profile=${profileId}`)
  await page.getByLabel('Group').selectOption({ label: 'Ferries (2)' })
  await page
    .getByRole('button', { name: /^Apply/ })
    .last()
    .click()
  await page
    .getByRole('dialog')
    .getByText('1 device gets a job. 1 skipped: A variable of the profile has no value: wifi_password.')
    .waitFor()
  expect(await answers()).not.toContain('correct horse')
})

test('shows where a device differs from what was applied, in an alert that leads to the profile, and applies it again', async () => {
  const { url, call } = product()
  const { id: organizationId, key } = await newOrganization()
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, key)
  const home = `/orgs/${organizationId}`
  const profile = { name: 'Depot', settings: { wifi: { ssid: 'depot' } } }
  const { id: profileId } = await post<{ id: string }>(`${home}/configs`, profile)
  const condition = { kind: 'config_differs', forMinutes: 0 }
  await post(`${home}/alert-rules`, { name: 'By hand', severity: 'warning', condition })
  const device = { organizationId, serial: 'VAN-1', name: 'Van 1', model: 'RX-500', tags: [] }
  const { id } = await post<{ id: string }>('/devices', device)
  const { token } = await post<{ token: string }>(`/devices/${id}/token`, {})
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const send = async (method: string, path: string, json?: object) => {
    const body = json === undefined ? null : JSON.stringify(json)
    const answer = await fetch(url + path, { method, headers, body })
    return answer.status === 200 ? ((await answer.json()) as { id: string; attempt: number }) : undefined
  }
  await post(`${home}/configs/${profileId}/apply`, { deviceIds: [id] })
  const job = await vi.waitUntil(() => send('GET', '/device/jobs/next?waitSeconds=5'), { timeout: minute })
  await send('POST', `/device/jobs/${job.id}/status`, { attempt: job.attempt, status: 'succeeded' })
  const report = { profileId, version: 1, digest: `sha256:${'0'.repeat(64)}`, settings: { wifi: { ssid: 'mine' } } }
  await send('PUT', '/device/config', report)

  const { page } = await read(`#/device?id=${id}`, { key })
  const card = page.getByRole('region', { name: 'Profile' })
  await card.getByText('Changed on the device').waitFor()
  await card.getByRole('row', { name: '/wifi/ssid depot mine' }).waitFor()
  await page.getByRole('link', { name: 'Not as applied: Depot, version 1' }).click()
  await page.getByRole('heading', { name: 'Profiles / Depot' }).waitFor()
  await page.goBack()
  await card.getByRole('link', { name: 'Apply again' }).click()
  await page.getByRole('button', { name: /^Apply .*1 device/ }).waitFor()
})
