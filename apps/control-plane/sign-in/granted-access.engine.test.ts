import { expect, test } from 'vitest'
import { grantedAccess } from './granted-access.ts'

test.each(['constructor', 'toString', '__proto__'])('a claim and a group may name %s like any organization', (name) => {
  const claims = JSON.parse(`{"orgs": {"${name}": ["viewer"], "other": ["admin"]}, "groups": ["${name}", "staff"]}`)
  const groupRoles = JSON.parse(`{"staff": {"${name}": ["job:read"]}}`)
  const { grants, platform } = grantedAccess(claims, { organizationsClaim: 'orgs', groupsClaim: 'groups', groupRoles })
  expect(platform).toBe(false)
  expect(Object.getPrototypeOf(grants)).toBe(Object.prototype)
  const words = name === '__proto__' ? [] : [[name, ['viewer', 'job:read']]]
  expect(Object.entries(grants)).toEqual(expect.arrayContaining([...words, ['other', ['admin']]]))
})
