import { expect, test } from 'vitest'
import { z } from 'zod'
import { operationIdOf, resultName } from './openapi-names.ts'
import type { Route } from './route.ts'

const nameOf = (method: Route['method'], path: string, answers: Route['answers'] = {}) =>
  operationIdOf({ method, path, answers })

test.each([
  ['post', '/orgs', 'createOrganization'],
  ['get', '/orgs/:orgId', 'getOrganization'],
  ['put', '/orgs/:orgId/subscription', 'replaceSubscription'],
  ['patch', '/orgs/:orgId/people/:id', 'updatePerson'],
  ['delete', '/devices/:id/tokens/:tokenId', 'deleteDeviceToken'],
  ['post', '/orgs/:orgId/job-batches/:id/pause', 'pauseJobBatch'],
  ['post', '/orgs/:orgId/configs/:id/roll-back', 'rollBackConfigProfile'],
  ['get', '/fleet/coverage', 'getCoverage'],
] as const)('%s %s is %s', (method, path, name) => {
  expect(nameOf(method, path)).toBe(name)
})

test('an operation that returns pages begins with list', () => {
  const schema = z.object({ items: z.array(z.string()), nextCursor: z.string().nullable() })
  expect(nameOf('get', '/devices/:id/jobs', { 200: { description: 'Jobs.', schema } })).toBe('listDeviceJobs')
})

test('a route can have a better name', () => {
  expect(operationIdOf({ method: 'get', path: '/livez', operationId: 'checkLiveness', answers: {} })).toBe(
    'checkLiveness',
  )
})

test('a page has the name of its items, and another response that of its operation', () => {
  const items = { type: 'array', items: { $ref: '#/components/schemas/Device' } }
  expect(resultName('listDevices', { properties: { items } })).toBe('DevicePage')
  expect(resultName('checkDevices', { properties: {} })).toBe('CheckDevicesResult')
})
