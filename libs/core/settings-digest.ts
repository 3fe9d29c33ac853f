import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/canonical-json'

/**
 * Returns a copy of the settings of a profile without its secret values. `secrets`: RFC 6901 pointers. A member of an object
 * is left out; an item of an array becomes null, so that the others keep their places. Ignores pointers to nothing.
 */
export function withoutSecrets(settings: Record<string, unknown>, secrets: readonly string[]): Record<string, unknown> {
  const copy = structuredClone(settings)
  for (const pointer of secrets) removeValue(copy, pointer)
  return copy
}

/** Returns `sha256:` and the hexadecimal SHA-256 over the canonical JSON of settings that have no secret values. */
export const settingsDigest = (publicSettings: Record<string, unknown>): string =>
  `sha256:${createHash('sha256').update(canonicalJson(publicSettings)).digest('hex')}`

function removeValue(settings: Record<string, unknown>, pointer: string): void {
  const [, ...keys] = pointer.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop()
  if (last === undefined) return
  let parent: unknown = settings
  for (const key of keys) parent = hasValue(parent, key) ? parent[key] : undefined
  if (!hasValue(parent, last)) return
  if (Array.isArray(parent)) parent[Number(last)] = null
  else delete parent[last]
}

/** Own members only: a pointer must not lead to `length` or to a prototype. */
function hasValue(parent: unknown, key: string): parent is Record<string, unknown> {
  if (Array.isArray(parent)) return /^(0|[1-9]\d*)$/.test(key) && Number(key) < parent.length
  return typeof parent === 'object' && parent !== null && Object.hasOwn(parent, key)
}
