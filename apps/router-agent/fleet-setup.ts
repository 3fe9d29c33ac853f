import { randomBytes } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import type { Log } from './log.ts'
import type { RouterSpec } from './world/roster.ts'

const groups = [
  { name: 'Demo fleet', smartTags: ['demo'] },
  { name: 'Trucks', smartTags: ['vehicle'] },
  { name: 'Ships', smartTags: ['ship'] },
  { name: 'Sites', smartTags: ['fixed-site'] },
]

const profileName = 'Standard router'

type SetupOptions = {
  baseUrl: string
  apiKey: string
  organizationId: string | undefined
  specs: RouterSpec[]
  dispatcher: Dispatcher
  log: Log
}

/** The service refused a request; a retry would be refused too. */
export class SetupRefused extends Error {}

type Named = { name: string }
type Page<Item> = { items: Item[]; nextCursor: string | null }

/**
 * Prepares the demo organization through the public API: registers the routers with their tags, and creates groups by tag
 * and one config profile. Does not change existing objects, so it can run at every start. Throws SetupRefused with the
 * response for a 4xx, and another error while the service is unavailable.
 */
export async function setUpDemo(options: SetupOptions): Promise<void> {
  const { specs, log } = options
  const call = createCaller(options)
  const organizationId = options.organizationId ?? (await firstOrganization(call))
  const query = `orgId=${organizationId}`

  const registered = new Set((await listAll<{ serial: string }>(call, `/devices?${query}`)).map(({ serial }) => serial))
  const missing = specs.filter(({ serial }) => !registered.has(serial))
  if (missing.length > 0) {
    const rows = missing.map(({ serial, name, model, tags }) => JSON.stringify({ serial, name, model, tags }))
    await call('POST', `/devices/import?${query}`, rows.join('\n'), 'application/x-ndjson')
  }
  const path = `/orgs/${organizationId}`
  const knownGroups = new Set((await listAll<Named>(call, `${path}/groups?`)).map(({ name }) => name))
  for (const group of groups) {
    if (!knownGroups.has(group.name)) await call('POST', `${path}/groups`, JSON.stringify(group))
  }
  const profiles = await listAll<Named>(call, `${path}/configs?`)
  if (!profiles.some(({ name }) => name === profileName)) {
    await call('POST', `${path}/configs`, JSON.stringify(standardProfile()))
  }
  log('demo_ready', { registered: missing.length, routers: specs.length })
}

const standardProfile = () => ({
  name: profileName,
  description: 'Default settings of the demo fleet.',
  settings: {
    reporting: { everySeconds: 10, batchSamples: 1_000 },
    mobile: { apn: 'fleet.iot', preferredRats: ['nr-nsa', 'lte', 'umts'] },
    wifi: { ssid: 'fleet', wifiPassword: { $secret: randomBytes(12).toString('base64url') } },
  },
})

type Call = (method: 'GET' | 'POST', path: string, body?: string, contentType?: string) => Promise<unknown>

function createCaller({ baseUrl, apiKey, dispatcher }: SetupOptions): Call {
  const prefix = baseUrl.replace(/(?<!\/)\/+$/, '')
  return async (method, path, body, contentType = 'application/json') => {
    const answer = await request(prefix + path, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${apiKey}`, ...(body === undefined ? {} : { 'content-type': contentType }) },
      body: body ?? null,
    })
    const text = await answer.body.text()
    if (answer.statusCode < 300) return JSON.parse(text)
    const sentence = `${method} ${path} failed with status ${answer.statusCode}: ${text.slice(0, 300)}`
    throw answer.statusCode < 500 && answer.statusCode !== 429 ? new SetupRefused(sentence) : new Error(sentence)
  }
}

async function listAll<Item>(call: Call, path: string): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const from: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page = (await call('GET', `${path}&limit=200${from}`)) as Page<Item>
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  return items
}

async function firstOrganization(call: Call): Promise<string> {
  const { items } = (await call('GET', '/orgs')) as Page<{ id: string }>
  if (!items[0]) throw new Error('The API key has no access to an organization.')
  return items[0].id
}
