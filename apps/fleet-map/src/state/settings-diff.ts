import { isObject } from './profile-settings.ts'

/** A value that differs between two versions of settings. Undefined: the version does not have it. */
export type SettingChange = { path: string; before: string | undefined; after: string | undefined }

/** Returns the values of settings by path, as text. Secrets show when they were set. */
function flatten(value: unknown, path = ''): Map<string, string> {
  if (isObject(value)) {
    const { $secret } = value
    if (isObject($secret) && $secret.set === true) return new Map([[path, `Secret set ${String($secret.updatedAt)}`]])
    const entries = Object.entries(value)
    if (entries.length === 0) return new Map([[path, '{}']])
    return new Map(entries.flatMap(([key, one]) => [...flatten(one, path ? `${path}.${key}` : key)]))
  }
  return new Map([[path, typeof value === 'string' ? value : JSON.stringify(value)]])
}

/** Returns the values that differ between two settings, in the order of their paths. */
export function diffSettings(before: { [key: string]: unknown }, after: { [key: string]: unknown }): SettingChange[] {
  const [old, now] = [flatten(before), flatten(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((path) => path !== '' && old.get(path) !== now.get(path))
    .sort()
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }))
}
