import { Secret } from '#core/secret'

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A secret value inside settings, held as JSON text; prints as `[secret]` wherever it is not revealed on purpose. */
export class SettingsSecret extends Secret {
  /** RFC 3339; when the value was last replaced. */
  readonly updatedAt: string

  constructor(json: string, updatedAt: string) {
    super(json)
    this.updatedAt = updatedAt
  }
}

/** Settings as the service works with them: plain JSON whose secret places hold a `SettingsSecret`. */
export type SettingsTree = null | boolean | number | string | SettingsSecret | SettingsTree[] | SettingsObject
export type SettingsObject = { [key: string]: SettingsTree }

export const isSettingsObject = (tree: SettingsTree | undefined): tree is SettingsObject =>
  typeof tree === 'object' && tree !== null && !Array.isArray(tree) && !(tree instanceof SettingsSecret)

export const isObject = (input: Json): input is { [key: string]: Json } =>
  typeof input === 'object' && input !== null && !Array.isArray(input)

/** True for `{"$secret": {"set": true, "updatedAt"?}}`, which readers see in place of a secret. */
export function isRedaction(input: Json): boolean {
  if (!isObject(input) || !Object.hasOwn(input, '$secret')) return false
  const mark = input.$secret ?? null
  if (!isObject(mark) || mark.set !== true || Object.keys(input).length > 1) return false
  return Object.keys(mark).every((key) => key === 'set' || key === 'updatedAt')
}

const redaction = (secret: SettingsSecret): Json => ({ $secret: { set: true, updatedAt: secret.updatedAt } })
const plainText = (secret: SettingsSecret): Json => JSON.parse(secret.reveal()) as Json

/** What readers see: every secret replaced by `{"$secret": {"set": true, "updatedAt"}}`. */
export const redactSettings = (settings: SettingsObject) =>
  replaceSecrets(settings, redaction) as { [key: string]: Json }

/** What the device gets: every secret as its plain value. Nothing else may see the result. */
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

/** Every secret with its RFC 6901 pointer, in document order. */
export function listSecrets(tree: SettingsTree, pointer = ''): [string, SettingsSecret][] {
  if (tree instanceof SettingsSecret) return [[pointer, tree]]
  if (typeof tree !== 'object' || tree === null) return []
  return Object.entries(tree).flatMap(([key, value]) => listSecrets(value, pointerTo(pointer, key)))
}

/** The inverse of `redactSettings`: puts secrets back at their pointers. Throws when a redacted place has none. */
export function restoreSecrets(redacted: { [key: string]: Json }, secrets: ReadonlyMap<string, SettingsSecret>) {
  const restore = (json: Json, pointer: string): SettingsTree => {
    if (typeof json !== 'object' || json === null) return json
    if (Array.isArray(json)) return json.map((item, index) => restore(item, pointerTo(pointer, index)))
    if ('$secret' in json) {
      const secret = secrets.get(pointer)
      if (!secret) throw new Error('A stored profile lacks one of its secrets.')
      return secret
    }
    return Object.fromEntries(
      Object.entries(json).map(([key, value]) => [key, restore(value, pointerTo(pointer, key))]),
    )
  }
  return restore(redacted, '') as SettingsObject
}

/** True when both hold the same values; a secret equals only itself, so that a replaced one always counts as a change. */
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
