import { Secret } from '#core/secret'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A secret value in settings, as JSON text. Logs and JSON print it as `[secret]`. */
export class SettingsSecret extends Secret {
  /** When the value was last replaced (RFC 3339). */
  readonly updatedAt: string

  constructor(json: string, updatedAt: string) {
    super(json)
    this.updatedAt = updatedAt
  }
}

/** Settings in memory: JSON with a `SettingsSecret` for each secret. */
export type SettingsTree = null | boolean | number | string | SettingsSecret | SettingsTree[] | SettingsObject
export type SettingsObject = { [key: string]: SettingsTree }

export const isSettingsObject = (tree: SettingsTree | undefined): tree is SettingsObject =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree) && !(tree instanceof SettingsSecret)

/** A value that stands for that of a variable. */
type Reference = { $var: string; default?: SettingsTree }

export const isReference = (tree: SettingsTree | undefined): tree is Reference & SettingsObject =>
  isSettingsObject(tree) && typeof tree.$var === 'string'

export const isObject = (input: Json): input is { [key: string]: Json } =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

/** True for `{"$secret": {"set": true, "updatedAt"?}}`, which replaces a secret in responses. */
export function isRedaction(input: Json): boolean {
  if (!isObject(input) || !Object.hasOwn(input, '$secret')) return false
  const mark = input.$secret ?? null
  if (!isObject(mark) || mark.set !== true || Object.keys(input).length > 1) return false
  return Object.keys(mark).every((key) => key === 'set' || key === 'updatedAt')
}

const redaction = (secret: SettingsSecret): Json => ({ $secret: { set: true, updatedAt: secret.updatedAt } })
const plainText = (secret: SettingsSecret): Json => JSON.parse(secret.reveal()) as Json

/** Replaces every secret with `{"$secret": {"set": true, "updatedAt"}}`, for responses. */
export const redactSettings = (settings: SettingsObject) =>
  replaceSecrets(settings, redaction) as { [key: string]: Json }

/** Replaces every secret with its plain value, only for the device. */
export const revealSecrets = (settings: SettingsObject) =>
  replaceSecrets(settings, plainText) as { [key: string]: Json }

function replaceSecrets(tree: SettingsTree, replace: (secret: SettingsSecret) => Json): Json {
  if (tree instanceof SettingsSecret) return replace(tree)
  if (Array.isArray(tree)) return tree.map((item) => replaceSecrets(item, replace))
  if (!isSettingsObject(tree)) return tree
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, replaceSecrets(value, replace)]))
}

/** Appends a key or index to an RFC 6901 JSON pointer. */
export const pointerTo = (parent: string, key: string | number): string =>
  `${parent}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Lists every secret with its RFC 6901 pointer, in document order. */
export function listSecrets(tree: SettingsTree, pointer = ''): [string, SettingsSecret][] {
  if (tree instanceof SettingsSecret) return [[pointer, tree]]
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([key, value]) => listSecrets(value, pointerTo(pointer, key)))
}

/** The inverse of `redactSettings`: inserts the secrets at their pointers. Throws when a secret is missing. */
export function restoreSecrets(redacted: { [key: string]: Json }, secrets: ReadonlyMap<string, SettingsSecret>) {
  const restore = (json: Json, pointer: string): SettingsTree => {
    if (typeof json !== 'object' || json === null) return json
    if (Array.isArray(json)) return json.map((item, index) => restore(item, pointerTo(pointer, index)))
    if ('$secret' in json) {
      const secret = secrets.get(pointer)
      if (!secret) throw new Error('A secret of the stored profile is missing.')
      return secret
    }
    return Object.fromEntries(
      Object.entries(json).map(([key, value]) => [key, restore(value, pointerTo(pointer, key))]),
    )
  }
  return restore(redacted, '') as SettingsObject
}

/** True when both have the same values. A secret is equal only to itself, so that replacing it always counts as a change. */
export function sameSettings(left: SettingsTree, right: SettingsTree): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (left instanceof SettingsSecret || right instanceof SettingsSecret) return false
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const leftEntries = Object.entries(left)
  const rightByKey = new Map(Object.entries(right))
  return (
    leftEntries.length === rightByKey.size &&
    leftEntries.every(([key, value]) => {
      const other = rightByKey.get(key)
      return other !== undefined && sameSettings(value, other)
    })
  )
}
