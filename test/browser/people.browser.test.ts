import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { startIdentityProvider, type TestIdentityProvider } from '#test/identity-provider'
import { readParquet } from '#test/parquet'
import { isOnCluster, type ProductProcess, startProductProcess } from '#test/product-process'
import { startSmtp, type TestSmtp } from '#test/smtp'
import { freePort } from '../../apps/stack/engines/process.ts'
import { accessibilityOf, violations } from './axe.ts'
import { serveBelow } from './path-prefix.ts'
import type { ReaderOptions } from './reader.ts'
import { chooseAction } from './screens.ts'
import { browserPages } from './session.ts'

// Tests how people sign in, connect their first router and change the settings, against a product without a demo fleet and a
// real OpenID provider.

const minute = 60_000
// Beside other products and browsers, some take four times as long as alone.
vi.setConfig({ testTimeout: 4 * minute })
const repository = join(import.meta.dirname, '../..')
const run = promisify(execFile)

let provider: TestIdentityProvider
let product: ProductProcess
let smtp: TestSmtp
const users: Record<string, Record<string, unknown>> = {}
const openPage = browserPages({
  start: async () => {
    const port = await freePort()
    smtp = await startSmtp()
    provider = await startIdentityProvider(`http://127.0.0.1:${port}`, users)
    const options = ['--no-demo', '--port', String(port), ...(isOnCluster ? ['--cluster'] : [])]
    product = await startProductProcess(options, {
      ...provider.environment,
      OIDC_PROVIDER_NAME: 'Example login',
      SMTP_URL: smtp.smtpUrl.reveal(),
      MAIL_FROM: 'Routerfleet <fleet@example.com>',
    })
  },
  stop: async () => {
    await product?.stop()
    provider?.close()
    await smtp?.close()
  },
})
const open = async (address: string, options?: ReaderOptions): Promise<Page> => (await openPage(address, options)).page

/** Prints a sign-in link like `npm run sign-in`. */
async function newLink(): Promise<string> {
  const { stdout } = await run('npm', ['run', '--silent', 'sign-in', '--', '--data-dir', product.folder], {
    cwd: repository,
  })
  return stdout.split('\n')[0] ?? ''
}

const untilSignedIn = (page: Page) => page.getByRole('navigation', { name: 'Views' }).waitFor()

/** The map of an administrator who signs in with a new link. */
async function newSession(options: ReaderOptions = {}): Promise<Page> {
  const page = await open(await newLink(), options)
  await untilSignedIn(page)
  return page
}

/** The browser of an administrator who signed in, for the tests that are not about signing in: a map costs seconds to draw. */
let administratorState: ReaderOptions['storageState']

/** A view, such as `groups?org=…`, in the browser of an administrator who has signed in. */
async function signedIn(view: string, options: ReaderOptions = {}): Promise<Page> {
  administratorState ??= await (await newSession()).context().storageState()
  const page = await open(`${product.access.baseUrl}/#/${view}`, { storageState: administratorState, ...options })
  await untilSignedIn(page)
  return page
}

async function call<Answer>(method: string, path: string, body?: unknown, key = product.access.adminKey) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
  const answer = await fetch(product.access.baseUrl + path, init)
  return { status: answer.status, body: (await answer.json()) as Answer }
}

async function newOrganization(name: string): Promise<string> {
  return (await call<{ id: string }>('POST', '/orgs', { name, plan: 'pro' })).body.id
}

/** Opens another view. The page may have asked the service meanwhile, and show the sign-in already, so it has no link to press. */
const useEndedSession = (page: Page) => page.evaluate("location.hash = '#/devices'")

const section = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true }).click()

test('signs in with a printed link, which works once and leaves no trace', async () => {
  const link = await newLink()
  const secret = link.split('link=')[1] ?? ''
  expect(secret).toMatch(/^fll_/)
  const page = await open(link)
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('region', { name: 'Account' }).getByText('Administrator', { exact: true }).waitFor()
  expect(page.url()).not.toContain(secret)
  const stored = await page.evaluate<string>(
    'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, history.state])',
  )
  expect(stored).not.toContain('fl')
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  expect(await page.evaluate('document.cookie')).toBe('')
  await page.reload()
  await page.getByRole('button', { name: /^Account/ }).waitFor()
  for (const text of [product.logs(), product.output()]) expect(text).not.toContain(secret)
  expect(product.output()).not.toContain('fll_')

  const second = await open(link, { expectedStatuses: [401] })
  await second.getByRole('alert').getByText('The sign-in link was used').waitFor()
  await second.getByLabel('API key').waitFor()
})

/** Lets the page have the answer to "who is signed in?", which it asks for as it loads, only after it signed in. */
const lateSession = `
  const send = window.fetch
  let answered
  const signedIn = new Promise((resolve) => { answered = resolve })
  window.fetch = async (address, init) => {
    const response = await send(address, init)
    if (!String(address).endsWith('/auth/session')) return response
    if (init.method === 'POST') setTimeout(answered, 500)
    else await signedIn.then(() => setTimeout(() => { window.hasLateAnswer = true }, 500))
    return response
  }`

test('stays signed in when the answer about an earlier session comes late', async () => {
  const page = await open(await newLink(), { before: lateSession })
  await page.getByRole('button', { name: /^Account/ }).waitFor()
  await expect.poll(() => page.evaluate('window.hasLateAnswer')).toBe(true)
  expect(await page.getByRole('button', { name: /^Account/ }).count()).toBe(1)
})

test('leads from an empty installation to the first report of a router', async () => {
  const page = await newSession()
  await page.getByRole('link', { name: 'Create an organization' }).click()
  await page.getByRole('button', { name: 'New organization' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('Harbour ferries')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByRole('table').getByRole('link', { name: 'Harbour ferries' }).waitFor()

  await page.getByRole('link', { name: 'Map', exact: true }).click()
  await page.getByRole('link', { name: 'Connect a router' }).click()
  await page.getByLabel('Serial number').fill('FERRY-1')
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('status').getByText('Waiting for the first report').waitFor()
  await page.getByRole('button', { name: 'curl' }).click()
  const command = await page.getByRole('region', { name: 'Command' }).textContent()
  await run('bash', ['-c', command ?? ''])
  await page.getByRole('status').getByText('FERRY-1 has reported.').waitFor()
  await page.getByRole('link', { name: 'Show on the map' }).click()
  await page.getByRole('complementary', { name: 'Device FERRY-1' }).waitFor()
})

test('connects a router with the router agent', async () => {
  const org = await newOrganization('Night buses')
  const page = await signedIn(`connect?org=${org}`)
  await page.getByLabel('Serial number').fill('BUS-1')
  await page.getByRole('button', { name: 'Create key' }).click()
  const command = (await page.getByRole('region', { name: 'Command' }).textContent()) ?? ''
  const ofAgent = `${command} --state-dir ${join(product.folder, 'agent')}`
  // In a process group of its own, because npm does not pass signals on to the agent in every version.
  const agent = spawn('bash', ['-c', ofAgent], { cwd: repository, detached: true, stdio: 'ignore' })
  try {
    await page.getByRole('status').getByText('BUS-1 has reported.').waitFor({ timeout: minute })
  } finally {
    if (agent.pid) process.kill(-agent.pid, 'SIGTERM')
    await once(agent, 'exit')
  }
})

test('creates, rotates and revokes an API key, each shown once', async () => {
  const org = await newOrganization('Key keepers')
  const page = await signedIn(`settings?org=${org}`)
  await section(page, 'API keys')
  await page.getByRole('button', { name: 'New API key' }).click()
  await page.getByLabel('Name').fill('Dashboard')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const shown = page.getByRole('dialog').getByRole('region', { name: 'API key' })
  const stored = page.getByRole('button', { name: 'I have stored it' })
  const oldKey = (await shown.textContent()) ?? ''
  await stored.click()
  const statusOf = async (key: string) => (await call('GET', '/devices', undefined, key)).status
  expect(await statusOf(oldKey)).toBe(200)

  await page.getByRole('button', { name: 'Rotate Dashboard' }).click()
  await page.getByLabel('The old key stops working').selectOption('At once')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  const newKey = (await shown.textContent()) ?? ''
  await stored.click()
  expect(newKey).not.toBe(oldKey)
  expect(await statusOf(newKey)).toBe(200)
  await expect.poll(() => statusOf(oldKey)).toBe(401)
  expect(await page.content()).not.toContain(newKey)

  await page.getByRole('button', { name: 'Revoke Dashboard' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('No API keys yet').waitFor()
  await expect.poll(() => statusOf(newKey)).toBe(401)

  await section(page, 'Audit log')
  await page.getByRole('link', { name: 'rotated the API key' }).click()
  await expect.poll(() => page.getByRole('table').getByRole('row').count()).toBe(2)
})

test('signs in at the identity provider, with the user’s organization and roles only', async () => {
  const org = await newOrganization('Island mail')
  users.olga = { name: 'Olga Operator', orgs: { [org]: ['operator'] } }
  const page = await open(`${product.access.baseUrl}/#/groups`, { otherOrigins: [provider.issuer] })
  await page.getByRole('link', { name: 'Sign in with Example login' }).click()
  await page.getByLabel('User name').fill('olga')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Groups' }).waitFor()
  await page.getByRole('button', { name: 'Account: Island mail' }).click()
  await page.getByRole('region', { name: 'Account' }).getByText('Olga Operator').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'Settings' }).click()
  await section(page, 'API keys')
  await page.getByText('Permission denied').waitFor()
  expect(await page.getByRole('link', { name: 'Organizations' }).count()).toBe(0)

  const administrator = await signedIn(`settings?section=sessions&org=${org}`)
  const people = administrator.getByRole('table', { name: 'People who are signed in' })
  await people
    .getByRole('row', { name: /Olga Operator/ })
    .getByRole('button', { name: 'End session' })
    .waitFor()

  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('button', { name: 'Yes, sign me out' }).click()
  await page.getByRole('link', { name: 'Sign in with Example login' }).click()
  await page.getByLabel('User name').waitFor()
})

/** An organization with 3,000 devices, the last of which reported each minute of the last day. */
async function largeFleet(): Promise<string> {
  const { body } = await call<{ id: string }>('POST', '/orgs', { name: 'Night freight', plan: 'enterprise' })
  const headers = { authorization: `Bearer ${product.access.adminKey}`, 'content-type': 'text/csv' }
  const rows = Array.from({ length: 3_000 }, (_, n) => `FREIGHT-${n + 1},Freight ${n + 1},RX400,freight\n`)
  const file = `serial,name,model,tags\n${rows.join('')}`
  const { baseUrl } = product.access
  const imported = await fetch(`${baseUrl}/devices/import?orgId=${body.id}`, { method: 'POST', headers, body: file })
  const { results } = (await imported.json()) as { results: { id: string }[] }
  const { token } = (await call<{ token: string }>('POST', `/devices/${results.at(-1)?.id}/token`)).body
  const now = Date.now()
  for (const hours of [0, 12]) {
    const samples = Array.from({ length: 720 }, (_, n) => ({
      ts: new Date(now - (hours * 60 + n) * minute - 1_000).toISOString(),
      kind: 'system',
      cpuPct: 5,
    }))
    const answer = await call('POST', '/telemetry', { samples }, token)
    expect(answer.status).toBe(202)
  }
  return body.id
}

/** Presses a button that downloads a file. Returns the lines of the file. */
async function downloaded(page: Page, press: () => Promise<void>): Promise<string[]> {
  const downloading = page.waitForEvent('download')
  await press()
  return (await readFile(await (await downloading).path(), 'utf8')).trimEnd().split('\r\n')
}

test('a person who signed in with a link exports 3,000 devices and a day of history', async () => {
  const org = await largeFleet()
  const { key } = (await call<{ key: string }>('POST', `/orgs/${org}/api-keys`, { name: 'Ines', role: 'viewer' })).body
  const link = (await call<{ url: string }>('POST', '/auth/sign-in-links', undefined, key)).body.url
  const page = await open(link)
  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page.getByText('3,000 devices').waitFor()
  const press = () => page.getByRole('button', { name: 'Export', exact: true }).click()
  const devices = await downloaded(page, press)
  expect(devices).toHaveLength(3_001)
  expect(new Set(devices.slice(1)).size).toBe(3_000)

  await page.getByLabel('Search by name').fill('FREIGHT-3000')
  await page.getByRole('link', { name: 'Freight 3000', exact: true }).click()
  // A report appears in the history within seconds.
  await expect
    .poll(
      async () => {
        await chooseAction(page, 'Export history')
        const dialog = page.getByRole('dialog', { name: 'Export the history of Freight 3000' })
        const download = () => dialog.getByRole('button', { name: 'Download' }).click()
        const lines = await downloaded(page, download)
        await dialog.waitFor({ state: 'detached' })
        return lines.length
      },
      { timeout: minute, interval: 1_000 },
    )
    .toBe(1_441)
  await chooseAction(page, 'Export history')
  await page.getByRole('dialog').getByLabel('File').selectOption('Parquet, for data tools and maps')
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const parquet = await downloading
  expect(parquet.suggestedFilename()).toMatch(/^history-.*\.parquet$/)
  const { buffer } = new Uint8Array(await readFile(await parquet.path()))
  expect((await readParquet(buffer)).rows).toHaveLength(1_440)
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('says why an export is not complete', async () => {
  const proxy = await serveBelow('', product.access.baseUrl, '/devices/export')
  try {
    const { page, problems } = await openPage(`${proxy.url}/#/devices`, { key: product.access.adminKey })
    await page.getByRole('button', { name: 'Export', exact: true }).click()
    await page.getByRole('alert').getByText('The download stopped before the end of the file').waitFor()
    expect(problems.splice(0)).toEqual([expect.stringContaining('ERR_INCOMPLETE_CHUNKED_ENCODING')])
  } finally {
    proxy.close()
  }
})

/** The link of the newest message with this subject, whose lines the encoding breaks. */
async function linkInMessage(subject: string): Promise<string> {
  const newest = () => smtp.received.findLast((message) => message.subject === subject)
  await expect.poll(newest, { timeout: minute }).toBeDefined()
  const text = (newest()?.raw ?? '').replaceAll('=\r\n', '').replaceAll('=3D', '=')
  return /http:\S+link=\w+/.exec(text)?.[0] ?? ''
}

test('invites a colleague, who joins, signs in again by e-mail, and is removed', async () => {
  const org = await newOrganization('Harbour tugs')
  await call('POST', `/orgs/${org}/groups`, { name: 'Tugs of the north' })
  const administrator = await signedIn(`settings?section=people&org=${org}`, { expectedStatuses: [400] })
  await administrator.getByRole('button', { name: 'Invite a person' }).click()
  const dialog = administrator.getByRole('dialog', { name: 'Invite a person' })
  await dialog.getByLabel('E-mail address').fill('grace@local')
  await administrator.keyboard.press('Escape')
  await dialog.getByText('Press Escape again to discard').waitFor()
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  await dialog.getByText('Must be an e-mail address.').waitFor()
  expect(await dialog.getByLabel('E-mail address').getAttribute('aria-invalid')).toBe('true')
  await dialog.getByLabel('E-mail address').fill('Grace@example.com')
  expect(await dialog.getByText('Must be an e-mail address.').count()).toBe(0)
  await dialog.getByLabel('Role').selectOption({ label: 'Operator: also changes devices and runs jobs' })
  await dialog.getByRole('button', { name: 'Invite', exact: true }).click()
  await administrator.getByText('The invitation is on its way to grace@example.com.').waitFor()
  await administrator
    .getByRole('table', { name: 'Invitations' })
    .getByText('grace@example.com', { exact: true })
    .waitFor()

  const colleague = await open(await linkInMessage('Invitation to Harbour tugs'), { expectedStatuses: [401, 403] })
  await colleague.getByRole('heading', { name: 'Join Harbour tugs' }).waitFor()
  expect(await violations(colleague)).toEqual([])
  expect(colleague.url()).not.toContain('fli_')
  await colleague.getByLabel('Your name').fill('Grace Hopper')
  await colleague.getByRole('button', { name: 'Join' }).click()
  await colleague.getByRole('link', { name: 'Groups', exact: true }).click()
  await colleague.getByRole('link', { name: 'Tugs of the north' }).waitFor()
  await colleague.getByRole('button', { name: /^Account/ }).click()
  await colleague.getByRole('region', { name: 'Account' }).getByText('Grace Hopper').waitFor()
  await colleague.getByRole('button', { name: 'Change name' }).click()
  const renaming = colleague.getByRole('dialog', { name: 'Change your name' })
  await renaming.getByLabel('Your name').fill('Grace B. Hopper')
  await renaming.getByRole('button', { name: 'Save' }).click()
  await renaming.waitFor({ state: 'detached' })
  await colleague.getByRole('button', { name: /^Account/ }).click()
  await colleague.getByRole('region', { name: 'Account' }).getByText('Grace B. Hopper').waitFor()
  await colleague.getByRole('button', { name: 'Sign out' }).click()

  await colleague.getByLabel('E-mail address').fill('grace@example.com')
  await colleague.getByRole('button', { name: 'Send me a sign-in link' }).click()
  await colleague.getByRole('status').getByText('If grace@example.com belongs to a person').waitFor()
  const again = await open(await linkInMessage('Your sign-in link'), { expectedStatuses: [401] })
  await again.getByRole('button', { name: 'Sign in', exact: true }).click()
  await again.getByRole('button', { name: /^Account/ }).waitFor()

  await administrator.reload()
  const people = administrator.getByRole('table', { name: 'People' })
  await people
    .getByRole('row', { name: /Grace B. Hopper/ })
    .getByText('Operator')
    .waitFor()
  expect(await violations(administrator)).toEqual([])
  await people.getByRole('button', { name: 'Remove Grace B. Hopper' }).click()
  await administrator.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await administrator.getByText('Nobody has joined yet').waitFor()
  await section(administrator, 'Audit log')
  const rows = administrator.getByRole('table', { name: 'Audit records' }).getByRole('row')
  await rows
    .filter({ hasText: 'Grace B. Hopper joined the organization' })
    .filter({ hasText: 'role: Operator' })
    .waitFor()
  await rows.filter({ hasText: 'invited grace@example.com' }).waitFor()
  await rows.filter({ hasText: 'removed Grace B. Hopper' }).waitFor()
  await administrator.getByLabel('What happened').selectOption({ label: 'Created the group' })
  await rows.filter({ hasText: 'created the group Tugs of the north' }).waitFor()
  await expect.poll(() => rows.count()).toBe(2)
  await useEndedSession(again)
  await again.getByRole('alert').getByText('Your session has ended').waitFor({ timeout: minute })
})

test('explains why the identity provider’s user has no access', async () => {
  users.nina = { name: 'Nina Nobody' }
  const page = await open(product.access.baseUrl, { otherOrigins: [provider.issuer] })
  await page.getByRole('link', { name: 'Sign in with Example login' }).click()
  await page.getByLabel('User name').fill('nina')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('alert').getByText('no access to any organization').waitFor()
})

test('asks for the organization instead of choosing one, and keeps the choice in the address', async () => {
  const [north, south] = [
    await newOrganization('North line'),
    await newOrganization(`South line ${'of the coast '.repeat(8)}`),
  ]
  await call('POST', `/orgs/${south}/groups`, { name: 'Ferries of the south' })
  const page = await signedIn('settings')
  for (const view of ['Groups', 'Profiles', 'Jobs']) {
    await page.getByRole('link', { name: view, exact: true }).click()
    await page.getByText('Choose an organization').waitFor()
  }
  await page.getByRole('link', { name: 'Groups', exact: true }).click()
  await page.getByRole('button', { name: 'South line' }).click()
  await page.getByRole('link', { name: 'Ferries of the south' }).waitFor()
  expect(page.url()).toContain(`org=${south}`)
  await page.setViewportSize({ width: 390, height: 844 })
  const { x, width } = (await page.getByRole('button', { name: 'New group' }).boundingBox()) ?? { x: 0, width: 999 }
  expect(x + width).toBeLessThan(390)
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.getByRole('button', { name: 'Account: South line' }).click()
  await page.getByRole('region', { name: 'Account' }).getByRole('button', { name: 'North line' }).click()
  await page.getByText('No groups yet').waitFor()
  expect(page.url()).toContain(`org=${north}`)
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByText('No jobs yet').waitFor()

  // An organization that is created meanwhile is in the list when its reader comes back to the page.
  await newOrganization('West line')
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
  await page.getByRole('button', { name: 'Account: North line' }).click()
  await page.getByRole('region', { name: 'Account' }).getByRole('button', { name: 'West line' }).click()
  await page.getByText('No jobs yet').waitFor()
})

test('finds a device, a group and a setting with the keyboard alone', async () => {
  const org = await newOrganization('Key pressers')
  await call('POST', `/orgs/${org}/groups`, { name: 'Snow ploughs' })
  await call('POST', '/devices', { organizationId: org, serial: 'PLOUGH-7', name: 'Plough 7', model: 'RX400' })
  const page = await signedIn(`groups?org=${org}`)
  await page.getByRole('link', { name: 'Snow ploughs' }).waitFor()
  const search = page.getByRole('dialog', { name: 'Search' })
  const found = search.getByRole('list', { name: 'Found' }).getByRole('link')

  await page.keyboard.press('Control+k')
  await search.getByLabel('Search').waitFor()
  await page.keyboard.type('plough')
  await expect.poll(() => found.allTextContents()).toEqual(['Plough 7 PLOUGH-7Device', 'Snow ploughs Group'])
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Groups / Snow ploughs' }).waitFor()
  await search.waitFor({ state: 'detached' })

  await page.keyboard.press('/')
  await search.getByLabel('Search').waitFor()
  await page.keyboard.type('PLOUGH-7')
  await found.filter({ hasText: 'Plough 7' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Plough 7' }).waitFor()

  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keys' }).getByText('Ctrl + K or /').waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('/')
  await search.getByLabel('Search').waitFor()
  await page.keyboard.type('audit')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Audit log' }).waitFor()
})

test('on a phone, the bar has five items of at least 40 px, and the others are behind More', async () => {
  const org = await newOrganization('Phone holders')
  await call('POST', `/orgs/${org}/groups`, { name: 'Ferries of the phone' })
  const page = await signedIn(`devices?org=${org}`, { viewport: { width: 390, height: 844 } })
  const bar = page.getByRole('navigation', { name: 'Views' })
  const items = bar.getByRole('link').or(bar.getByRole('button'))
  await bar.getByRole('button', { name: 'More' }).waitFor()
  expect(await items.count()).toBe(5)
  for (const item of await items.all()) {
    const { width, height } = (await item.boundingBox()) ?? { width: 0, height: 0 }
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(40)
  }
  await bar.getByRole('button', { name: 'More' }).click()
  const more = page.getByRole('region', { name: 'More' })
  await more.getByText('Platform administrator').waitFor()
  expect(await violations(page)).toEqual([])
  await more.getByRole('link', { name: 'Groups' }).click()
  await page.getByRole('link', { name: 'Ferries of the phone' }).waitFor()
  expect(await more.count()).toBe(0)
  await bar.getByRole('button', { name: 'More' }).click()
  await more.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('dialog', { name: 'Search' }).getByLabel('Search').fill('ferries')
  await page.getByRole('dialog', { name: 'Search' }).getByRole('link', { name: 'Ferries of the phone' }).click()
  await page.getByRole('heading', { name: 'Groups / Ferries of the phone' }).waitFor()
})

test('ends the session of another browser, which keeps what was typed until its person signs in again', async () => {
  const org = await newOrganization('Typists')
  const other = await newSession({ expectedStatuses: [401] })
  await other.evaluate(`location.hash = '#/groups?org=${org}'`)
  await other.getByRole('button', { name: 'New group' }).click()
  const dialog = other.getByRole('dialog', { name: 'New group' })
  await dialog.getByLabel('Name').fill('Night ferries')
  const page = await signedIn('settings')
  await section(page, 'Sign-in sessions')
  const rows = page.getByRole('table', { name: 'Sign-in sessions' }).getByRole('row')
  await rows.filter({ hasText: 'This browser' }).getByRole('button', { name: 'Sign out' }).waitFor()
  // The newest is the first.
  await rows.getByRole('button', { name: 'End session' }).first().click()
  const again = other.getByRole('dialog', { name: 'Sign in again' })
  // A replica of the service may know the session for some more seconds.
  await expect.poll(() => other.evaluate<number>("fetch('auth/me').then(({ status }) => status)")).toBe(401)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await again.getByRole('alert').getByText('Your session has ended').waitFor()
  expect(await dialog.count()).toBe(0)
  await other.keyboard.press('Escape')
  await other.keyboard.press('Escape')
  expect(await violations(other)).toEqual([])

  const tab = await other.context().newPage()
  await tab.goto(await newLink())
  await untilSignedIn(tab)
  await dialog.waitFor()
  expect(await dialog.getByLabel('Name').inputValue()).toBe('Night ferries')
  await dialog.getByText('this was not done. Try again.').waitFor()
  await dialog.getByRole('button', { name: 'Create' }).click()
  await other.getByRole('heading', { name: 'Groups / Night ferries' }).waitFor()
})

test('creates the key of a gateway for one group', async () => {
  const org = await newOrganization('Tramways')
  await call('POST', `/orgs/${org}/groups`, { name: 'Night trams' })
  const page = await signedIn(`settings?section=enrollment-keys&org=${org}`)
  await page.getByRole('button', { name: 'New enrollment key' }).click()
  await page.getByLabel('Name').fill('Depot gateway')
  await page.getByLabel(/^For/).selectOption('A gateway')
  await page.getByLabel('Devices that the gateway speaks for').selectOption('Members of Night trams')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  expect(await page.getByRole('region', { name: 'Enrollment key' }).textContent()).toMatch(/^fle_/)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page
    .getByRole('row', { name: /Depot gateway/ })
    .getByText('Gateway of the group Night trams')
    .waitFor()
})

test('creates a webhook, sends a test event, and shows its delivery', async () => {
  const org = await newOrganization('Hook owners')
  const page = await signedIn(`settings?section=webhooks&org=${org}`, { expectedStatuses: [400] })
  await page.getByRole('button', { name: 'New webhook' }).click()
  await page.getByLabel('Address').fill('https://hooks.example.com/routers')
  await page.getByLabel('Description').fill('Workshop')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const events = page.getByRole('group', { name: 'Events' })
  await events.getByText('Choose at least one event.').waitFor()
  await page.getByRole('alert').getByText('Correct the marked fields').waitFor()
  expect(await violations(page)).toEqual([])
  await page.getByLabel('A job finishes').check()
  expect(await events.getByText('Choose at least one event.').count()).toBe(0)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  expect(await page.getByRole('region', { name: 'Signing secret' }).textContent()).toMatch(/^whsec_/)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('link', { name: 'Workshop' }).click()
  await page.getByRole('button', { name: 'Send test event' }).click()
  await page.getByRole('table', { name: 'Deliveries' }).getByText('webhook.test').waitFor()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByLabel('The old secret expires').selectOption('After 7 days')
  expect(await violations(page)).toEqual([])
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  expect(await page.getByRole('region', { name: 'Signing secret' }).textContent()).toMatch(/^whsec_/)
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByText('deliveries also have a signature with the old secret').waitFor()
  await page.getByRole('button', { name: 'End the old secret now' }).click()
  await page.getByText('deliveries also have a signature with the old secret').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Disable' }).click()
  await page.getByText('No deliveries in the last seven days').waitFor()
  await page.getByRole('button', { name: 'Enable' }).waitFor()
})

test('has no serious accessibility violation in either theme', { timeout: 4 * 60_000 }, async () => {
  const org = await newOrganization('Readers in either theme')
  await call('POST', `/orgs/${org}/api-keys`, { name: 'Dashboard', role: 'viewer' })
  const page = await newSession()
  const { look, found } = accessibilityOf(page)
  await page.getByRole('link', { name: 'Settings' }).click()
  for (const [id, sight] of [
    ['organization', 'Devices in use'],
    ['people', 'People'],
    ['api-keys', 'API keys'],
    ['enrollment-keys', 'Enrollment keys'],
    ['webhooks', 'Webhooks'],
    ['audit', 'Audit log'],
    ['sessions', 'Sign-in sessions'],
    ['organizations', 'Organizations'],
  ] as const) {
    await page.evaluate(`location.hash = '#/settings?section=${id}&org=${org}'`)
    await page
      .getByLabel(sight)
      .or(page.getByRole('heading', { name: sight }))
      .first()
      .waitFor()
    await page
      .getByRole('status')
      .waitFor({ state: 'detached' })
      .catch(() => {})
    await look(id)
  }
  await page.evaluate(`location.hash = '#/connect?org=${org}'`)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('region', { name: 'Command' }).waitFor()
  await look('connect')
  await page.evaluate("location.hash = '#/jobs'")
  await page.getByText('Choose an organization').waitFor()
  await look('choose an organization')
  await page.getByRole('button', { name: /^Account/ }).click()
  await look('account')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('link', { name: 'Sign in with Example login' }).waitFor()
  await look('sign-in')
  expect(found).toEqual({})
})
