import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRegistryFeed } from '#fleet-map/live/registry-feed'
import { createRevisions } from '#fleet-map/revisions'
import { type OwnedPool, openPool, type Pool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { newOrganization, newReportingDevices } from '#test/reporting-device'

let database: TestDatabase
let pool: OwnedPool
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
})
afterAll(async () => {
  await pool?.end()
  await database?.drop()
})

test('a large fleet is read in parts, and once for all callers that come at the same time', async () => {
  const organizationId = await newOrganization(pool)
  await newReportingDevices(pool, organizationId, 20_005)
  await newReportingDevices(pool, await newOrganization(pool), 5)
  let statements = 0
  const query = (text: string, values?: unknown[]) => {
    statements++
    return pool.query(text, values)
  }
  const map = createOrganizationMap(organizationId, createRevisions())
  const feed = createRegistryFeed({ query } as Pool, map)
  await Promise.all(Array.from({ length: 10 }, () => feed.refresh()))
  expect(map.size()).toBe(20_005)
  // The time and two parts, and then the changes for those who came meanwhile.
  expect(statements).toBe(4)
})
