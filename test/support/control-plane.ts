import { parseConfig } from '#core/config'
import { hashToken, issueToken } from '#core/tokens'
import { ensureAccess } from '#fleet/access/bootstrap'
import { type RoleName, type Scope, scopes, scopesOfRole } from '#fleet/access/scopes'
import { insertOrganization } from '#fleet/organizations/organizations'
import type { QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase } from '#test/database'
import { assertDocumented } from '#test/documented'
import { questdbConnection } from '#test/questdb'
import { configSchema } from '../../apps/control-plane/config.ts'
import { createApp } from '../../apps/control-plane/http/app.ts'
import type { Route } from '../../apps/control-plane/http/route.ts'
import { routes as allRoutes } from '../../apps/control-plane/routes.ts'
import type { Services } from '../../apps/control-plane/services.ts'
import { openServices } from '../../apps/control-plane/start.ts'

/** A test request: `json` is serialized, `body` is sent unchanged. */
type Call = {
  token?: string
  json?: unknown
  body?: string | Uint8Array<ArrayBuffer>
  headers?: Record<string, string>
}

// biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of the responses.
export type Answer = { status: number; headers: Headers; body: any }

export type TestControlPlane = {
  services: Services
  /** Direct access to the copy of QuestDB that requests read. */
  questdb: QuestdbSql
  databaseUrl: string
  platformKey: string
  call(method: string, path: string, call?: Call): Promise<Answer>
  /** The fetch function of the application, for responses that are not JSON. */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /** Creates an organization and a key with all scopes in it. A random name would match some searches of devices by chance. */
  newOrganization(options?: { plan?: string; name?: string }): Promise<{ id: string; key: string }>
  /** Creates a key with these scopes in these organizations. The first organization owns the key. */
  newKey(organizationIds: string[], held: readonly Scope[] | RoleName): Promise<string>
  close(): Promise<void>
}

/** Starts the control plane on a new database, the shared QuestDB and the additional environment of a test. */
export async function startControlPlane(
  environment: Record<string, string> = {},
  routes: readonly Route[] = allRoutes,
): Promise<TestControlPlane> {
  const database = await createTestDatabase()
  const questdb = questdbConnection()
  const config = parseConfig(configSchema, {
    POSTGRES_URL: database.url,
    QUESTDB_URL: questdb.httpUrl,
    QUESTDB_PG_URL: questdb.pgUrl,
    QUESTDB_USER: questdb.user,
    QUESTDB_PASSWORD: questdb.password,
    INGEST_URL: 'http://127.0.0.1:9',
    CONFIG_SECRETS_KEY: 'a master secret for tests, long enough',
    PUBLIC_BASE_URL: 'http://routerfleet.test',
    LOG_LEVEL: 'fatal',
    ...environment,
  })
  const { services, close } = await openServices(config)
  const app = createApp(routes, services)
  const { adminKey } = await ensureAccess(services, { demo: false })
  const newKey: TestControlPlane['newKey'] = (organizationIds, held) => insertKey(services, organizationIds, held)
  return {
    services,
    questdb: services.copies.current().questdb,
    databaseUrl: database.url,
    platformKey: adminKey,
    async call(method, path, call = {}) {
      const answer = await readAnswer(await app.request(path, requestOf(method, call)))
      assertDocumented(routes, method, path, answer)
      return answer
    },
    fetch: async (path, init) => app.request(path, init),
    newKey,
    async newOrganization({ plan = 'enterprise', name = 'Organization' } = {}) {
      const { id } = await insertOrganization(services.pool, name, plan)
      return { id, key: await newKey([id], scopes) }
    },
    async close() {
      await close()
      await database.drop()
    },
  }
}

function requestOf(method: string, { token, json, body, headers }: Call): RequestInit {
  return {
    method,
    headers: {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    ...(body === undefined ? {} : { body }),
  }
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text()
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
}

async function insertKey(
  services: Services,
  organizationIds: string[],
  held: readonly Scope[] | RoleName,
): Promise<string> {
  const issued = issueToken('flk')
  const scopesHeld = typeof held === 'string' ? scopesOfRole[held] : held
  await services.pool.query(
    "INSERT INTO api_key (id, organization_id, name, token_hash, created_by) VALUES ($1, $2, 'test', $3, 'test')",
    [issued.id, organizationIds[0], hashToken(issued.token)],
  )
  await services.pool.query(
    'INSERT INTO api_key_grant (api_key_id, organization_id, scopes) SELECT $1, unnest($2::uuid[]), $3',
    [issued.id, organizationIds, scopesHeld],
  )
  return issued.token
}
