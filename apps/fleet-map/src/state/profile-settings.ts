/** True for a JSON object; false for arrays and null. */
export const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True for the placeholder of a secret that is set. The service never returns the value. */
export const isSetSecret = (value: unknown): boolean =>
  isObject(value) && isObject(value.$secret) && value.$secret.set === true

/** The name of the variable that stands for a value. */
export const variableOf = (value: unknown): string | undefined =>
  isObject(value) && typeof value.$var === 'string' ? value.$var : undefined

/** Returns the single values of settings with their paths, such as `wifi.ssid`. Secrets, variables and lists are one value. */
export function settingValues(settings: { [key: string]: unknown }, path = ''): { path: string; value: unknown }[] {
  return Object.entries(settings).flatMap(([key, value]) => {
    const inner = path ? `${path}.${key}` : key
    const isSection = isObject(value) && Object.keys(value).length > 0 && !isSetSecret(value) && !variableOf(value)
    return isSection ? settingValues(value, inner) : [{ path: inner, value }]
  })
}

/** Returns the paths of all secrets that are set, such as `wifi.wifiPassword`. */
export function secretPaths(value: unknown, path = ''): string[] {
  if (isSetSecret(value)) return [path]
  const parts = isObject(value) || Array.isArray(value) ? Object.entries(value) : []
  return parts.flatMap(([key, one]) => secretPaths(one, path ? `${path}.${key}` : key))
}

/** Returns the JSON merge patch (RFC 7396) between two settings. Removed keys become null. */
export function mergePatch(
  before: { [key: string]: unknown },
  after: { [key: string]: unknown },
): { [key: string]: unknown } {
  const patch = new Map<string, unknown>()
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch.set(key, null)
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (isObject(old) && isObject(value) && !isSetSecret(old) && !('$secret' in value)) {
      const inner = mergePatch(old, value)
      if (Object.keys(inner).length > 0) patch.set(key, inner)
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch.set(key, value)
  }
  return Object.fromEntries(patch)
}
