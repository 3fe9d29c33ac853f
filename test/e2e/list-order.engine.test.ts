import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

// Lists are paged by id and show `createdAt`. Both must have the same order, even for rows created at the same time.

let api: TestControlPlane
let organization: { id: string; key: string }
beforeAll(async () => {
  api = await startControlPlane()
  organization = await api.newOrganization()
})
afterAll(() => api.close())

const count = 40
const call: TestControlPlane['call'] = (...sent) => api.call(...sent)
const within = (path: string) => `/orgs/${organization.id}${path}`

type Listed = {
  list: () => string
  create: (index: number) => Promise<{ method: string; path: string; json: object; token?: string }>
  at?: string
}

const lists: Record<string, Listed> = {
  devices: {
    list: () => '/devices',
    create: async (index) => ({
      method: 'POST',
      path: '/devices',
      json: { organizationId: organization.id, serial: `S-${index}`, name: 'R', model: 'M' },
    }),
  },
  groups: {
    list: () => within('/groups'),
    create: async (index) => ({ method: 'POST', path: within('/groups'), json: { name: `G-${index}` } }),
  },
  'config profiles': {
    list: () => within('/configs'),
    create: async (index) => ({ method: 'POST', path: within('/configs'), json: { name: `P-${index}` } }),
  },
  webhooks: {
    list: () => within('/webhooks'),
    create: async () => ({
      method: 'POST',
      path: within('/webhooks'),
      json: { url: 'https://example.com/hook', events: ['device.created'] },
    }),
  },
  organizations: {
    list: () => '/orgs',
    create: async (index) => ({
      method: 'POST',
      path: '/orgs',
      json: { name: `O-${index}`, plan: 'pro' },
      token: api.platformKey,
    }),
  },
  jobs: {
    list: () => within('/jobs'),
    create: async (index) => ({
      method: 'POST',
      path: `/devices/${await newDevice(`J-${index}`)}/jobs`,
      json: { kind: 'collect_diagnostics' },
    }),
  },
  'job batches': {
    list: () => within('/job-batches'),
    create: async (index) => ({
      method: 'POST',
      path: within(`/groups/${await newGroup(`B-${index}`)}/jobs`),
      json: { kind: 'reboot' },
    }),
  },
  'audit records': {
    list: () => within('/audit'),
    create: async (index) => ({ method: 'POST', path: within('/groups'), json: { name: `A-${index}` } }),
    at: 'at',
  },
}

const created = async (path: string, json: object): Promise<string> =>
  (await call('POST', path, { token: organization.key, json })).body.id
const newDevice = (serial: string) =>
  created('/devices', { organizationId: organization.id, serial, name: 'R', model: 'M' })
const newGroup = (name: string) => created(within('/groups'), { name })

test.each(Object.entries(lists))(
  '%s created at once are listed newest first by what is shown',
  async (_what, listed) => {
    const requests = []
    for (let index = 0; index < count; index += 1) requests.push(await listed.create(index))
    const answers = await Promise.all(
      requests.map(({ method, path, json, token = organization.key }) => call(method, path, { token, json })),
    )
    expect(answers.filter(({ status }) => status >= 300)).toEqual([])
    const token = listed.list() === '/orgs' ? api.platformKey : organization.key
    const { body } = await call('GET', `${listed.list()}?limit=200`, { token })
    const times: string[] = body.items.map((item: Record<string, string>) => item[listed.at ?? 'createdAt'])
    expect(times.length).toBeGreaterThanOrEqual(count)
    expect(times).toEqual([...times].sort().reverse())
  },
)
