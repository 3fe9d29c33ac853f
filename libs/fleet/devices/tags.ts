import { badRequest } from '#core/errors'
import { newTag } from '#core/schemas'

const schema = newTag()

/**
 * Returns why an object with the tags `before` cannot have the tags `after`; undefined if it can. It may keep a tag that was
 * allowed once.
 */
export function faultOfTags(before: readonly string[], after: readonly string[]): string | undefined {
  for (const tag of after) {
    const parsed = before.includes(tag) ? undefined : schema.safeParse(tag)
    if (parsed?.error) return `Tag "${tag}": ${parsed.error.issues[0]?.message}`
  }
  return undefined
}

/** Throws 400 for tags that an object cannot have. */
export function requireTags(before: readonly string[], after: readonly string[] = []): void {
  const detail = faultOfTags(before, after)
  if (detail !== undefined) throw badRequest(detail, [{ pointer: '/tags', code: 'invalid_format', detail }])
}
