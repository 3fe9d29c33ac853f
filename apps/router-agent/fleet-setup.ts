import { randomBytes } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { type CallService, createServiceCaller, listAll } from './call-service.ts'
import type { Log } from './log.ts'
import type { RouterSpec } from './world/roster.ts'

const groups = [
  { name: 'Demo fleet', smartTags: ['demo'] },
  { name: 'Trucks', smartTags: ['vehicle'] },
  { name: 'Ships', smartTags: ['ship'] },
  { name: 'Sites', smartTags: ['fixed-site'] },
]

export const profileName = 'Standard router'

type SetupOptions = {
  baseUrl: string
  apiKey: string
  organizationId: string | undefined
  specs: RouterSpec[]
  dispatcher: Dispatcher
  log: Log
}

type Named = { name: string }

/**
 * Prepares the demo organization through the public API: registers the routers with their tags, and creates groups by tag
 * and one config profile. Does not change existing objects, so it can run at every start. Throws SetupRefused with the
 * response for a 4xx, and another error while the service is unavailable. Returns the id of the organization.
 */
export async function setUpDemo(options: SetupOptions): Promise<string> {
  const { specs, log } = options
  const call = createServiceCaller(options)
  const organizationId = options.organizationId ?? (await firstOrganization(call))
  const query = `orgId=${organizationId}`

  const registered = new Set((await listAll<{ serial: string }>(call, `/devices?${query}`)).map(({ serial }) => serial))
  const missing = specs.filter(({ serial }) => !registered.has(serial))
  if (missing.length > 0) {
    const rows = missing.map(({ serial, name, model, tags }) => JSON.stringify({ serial, name, model, tags }))
    await call('POST', `/devices/import?${query}`, rows.join('\n'), { 'content-type': 'application/x-ndjson' })
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
  return organizationId
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

async function firstOrganization(call: CallService): Promise<string> {
  const { items } = (await call('GET', '/orgs')) as { items: { id: string }[] }
  if (!items[0]) throw new Error('The API key has no access to an organization.')
  return items[0].id
}
