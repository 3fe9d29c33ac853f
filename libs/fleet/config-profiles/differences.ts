import { isDeepStrictEqual } from 'node:util'
import { pointerTo } from '#fleet/config-profiles/settings-tree'

/** A member that is not the same in two settings; null where one does not have it. */
type SettingsDifference = { path: string; desired: unknown; reported: unknown }

type Members = { [key: string]: unknown }

const maxDifferences = 500

/** The first 500 members that differ, in the order of their pointers. Lists are compared as a whole. */
export const settingsDifferences = (desired: Members, reported: Members): SettingsDifference[] =>
  compare(desired, reported, '').slice(0, maxDifferences)

function compare(desired: Members, reported: Members, parent: string): SettingsDifference[] {
  const keys = [...new Set([...Object.keys(desired), ...Object.keys(reported)])].sort()
  return keys.flatMap((key) => {
    const [want, have] = [memberOf(desired, key), memberOf(reported, key)]
    const path = pointerTo(parent, key)
    if (isMembers(want) && isMembers(have)) return compare(want, have, path)
    return isDeepStrictEqual(want, have) ? [] : [{ path, desired: want, reported: have }]
  })
}

const memberOf = (members: Members, key: string): unknown => (Object.hasOwn(members, key) ? members[key] : null)

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
