import { badRequest } from '#core/errors'
import { isStorable } from '#core/text'
import { namesSecret } from '#fleet/config-profiles/secret-names'
import { isLargerThan } from '#fleet/config-profiles/settings-size'
import {
  isObject,
  isRedaction,
  isReference,
  isSettingsObject,
  type Json,
  pointerTo,
  revealSecrets,
  type SettingsObject,
  SettingsSecret,
  type SettingsTree,
} from '#fleet/config-profiles/settings-tree'
import { builtInVariables, isReferable, nameRule, placeholders } from '#fleet/config-profiles/variables/names'

export const maxSettingsBytes = 64 * 1024
/** A merge patch may remove all stored settings and add as many. */
export const maxPatchBytes = 2 * maxSettingsBytes
export const tooLargeText = (field: string) => `\`${field}\` must not exceed ${maxSettingsBytes} bytes as JSON.`
const maxSettingsDepth = 16
/** In Unicode code points. */
const maxKeyLength = 256

/**
 * The position of a value: its pointer in the request body, its depth, whether null removes it (merge patch), and whether it can
 * refer to variables.
 */
type Place = { pointer: string; depth: number; merging: boolean; isSecret: boolean; refers: boolean }

const rootPlace = { pointer: '/settings', depth: 0, merging: false, isSecret: false, refers: true } as const

/**
 * Reads the `settings` of a new profile. A value is secret when it has the form `{"$secret": value}` or its key names a
 * secret (`namesSecret`). Throws 400: `secret_not_set` for a redaction without a stored secret, `invalid_settings`,
 * `settings_too_deep`, `settings_too_large`.
 */
export const readSettings = (input: Json, nowMs: number): SettingsObject => readAll(input, undefined, rootPlace, nowMs)

/**
 * Applies a JSON Merge Patch (RFC 7396) to settings. A redaction keeps the secret at the same path (in arrays: at the same
 * index), null removes it, any other value replaces it. A secret path stays secret. Throws as `readSettings` does.
 */
export const mergeSettings = (previous: SettingsObject, patch: Json, nowMs: number): SettingsObject =>
  readAll(patch, previous, { ...rootPlace, merging: true }, nowMs)

/**
 * Reads the variables of an organization, a group or a device, which replace the previous ones: by the rules of `readSettings`,
 * and a redaction keeps the secret at the same path. Throws as `readSettings` does, and for a value that refers to a variable.
 */
export const readVariables = (previous: SettingsObject, input: Json, nowMs: number): SettingsObject =>
  readAll(input, previous, { ...rootPlace, pointer: '/variables', refers: false }, nowMs)

function readAll(input: Json, previous: SettingsObject | undefined, place: Place, nowMs: number): SettingsObject {
  if (isLargerThan(input, place.merging ? maxPatchBytes : maxSettingsBytes)) throw tooLarge(place)
  const tree = readTree(input, previous, place, new Date(nowMs).toISOString())
  if (!isSettingsObject(tree) || isReference(tree)) {
    throw refuse(place.pointer, 'invalid_settings', `\`${place.pointer.slice(1)}\` must be a JSON object.`)
  }
  const bytes = Buffer.byteLength(JSON.stringify(revealSecrets(tree)))
  if (bytes > maxSettingsBytes) throw tooLarge(place)
  return tree
}

function readTree(input: Json, previous: SettingsTree | undefined, place: Place, now: string): SettingsTree {
  const { pointer } = place
  if (isRedaction(input)) {
    if (previous instanceof SettingsSecret) return previous
    throw refuse(pointer, 'secret_not_set', 'A redaction keeps a secret, but no secret is set at this path.')
  }
  // In place of a secret, a reference is sealed as a whole: otherwise its default and its variable would be shown. At a key that
  // names a secret, both are secret already.
  const isShown = place.isSecret || !(previous instanceof SettingsSecret)
  if (isObject(input) && Object.hasOwn(input, '$var') && isShown) return readReference(input, previous, place, now)
  const wrapped = secretOf(input, pointer)
  const value = wrapped === undefined ? input : wrapped
  if (value === null) return null
  if (place.isSecret || wrapped !== undefined || previous instanceof SettingsSecret) {
    return new SettingsSecret(JSON.stringify(unwrap(value, place)), now)
  }
  if (typeof value !== 'object') return storableValue(value, place)
  requireDepth(place)
  return Array.isArray(value) ? readArray(value, previous, place, now) : readObject(value, previous, place, now)
}

/** A reference is one value: a patch replaces it with its default. Its default at the key of a secret is a secret. */
function readReference(
  input: { [key: string]: Json },
  previous: SettingsTree | undefined,
  place: Place,
  now: string,
): SettingsTree {
  requireDepth(place)
  const name = referredName(input, place)
  if (!Object.hasOwn(input, 'default')) return { $var: name }
  const before = isReference(previous) ? previous.default : undefined
  const inner = inside(place, 'default', { merging: false, isSecret: place.isSecret })
  return { $var: name, default: readTree(input.default ?? null, before, inner, now) }
}

/** The name in `{"$var": name, "default"?}`. */
function referredName(input: { [key: string]: Json }, { pointer, refers }: Place): string {
  if (!refers) throw refuse(pointer, 'invalid_settings', 'The value of a variable cannot refer to a variable.')
  const others = Object.keys(input).filter((key) => key !== '$var' && key !== 'default')
  if (others.length > 0)
    throw refuse(pointer, 'invalid_settings', 'An object with "$var" can have only "default" besides it.')
  if (typeof input.$var === 'string' && isReferable(input.$var)) return input.$var
  throw refuse(pointer, 'invalid_settings', `"$var" must be the name of a variable: ${nameRule}`)
}

function readArray(input: Json[], previous: SettingsTree | undefined, place: Place, now: string): SettingsTree {
  const before = Array.isArray(previous) ? previous : []
  return input.map((item, index) => readTree(item, before[index], inside(place, index, { merging: false }), now))
}

function readObject(
  input: { [key: string]: Json },
  previous: SettingsTree | undefined,
  place: Place,
  now: string,
): SettingsTree {
  const before = isSettingsObject(previous) && !isReference(previous) ? previous : {}
  const result = new Map<string, SettingsTree>(place.merging ? Object.entries(before) : [])
  for (const [key, value] of Object.entries(input)) {
    const earlier = Object.hasOwn(before, key) ? before[key] : undefined
    if (earlier === undefined) requireShort(key, place)
    const tree = readTree(checked(key, value, place), earlier, inside(place, key, { isSecret: namesSecret(key) }), now)
    if (tree === null && place.merging) result.delete(key)
    else result.set(key, tree)
  }
  return Object.fromEntries(result)
}

/** Returns the plain JSON of a value that becomes one secret. Unwraps `{"$secret": …}` inside it. */
function unwrap(input: Json, place: Place): Json {
  if (isRedaction(input))
    throw refuse(
      place.pointer,
      'secret_not_set',
      'A redaction keeps a secret, but no separate secret is set at this path.',
    )
  const wrapped = secretOf(input, place.pointer)
  const value = wrapped === undefined ? input : wrapped
  if (typeof value !== 'object' || value === null) return storableValue(value, place)
  requireDepth(place)
  if (Array.isArray(value)) return value.map((item, index) => unwrap(item, inside(place, index, { merging: false })))
  const isVariable = Object.hasOwn(value, '$var')
  if (isVariable) referredName(value, place)
  const entries = Object.entries(value).filter(([, member]) => member !== null || isVariable || !place.merging)
  return Object.fromEntries(
    entries.map(([key, member]) => {
      requireShort(key, place)
      return [key, unwrap(checked(key, member, place), inside(place, key))]
    }),
  )
}

const inside = (place: Place, key: string | number, change: Partial<Place> = {}): Place => ({
  ...place,
  isSecret: false,
  ...change,
  depth: place.depth + 1,
  pointer: pointerTo(place.pointer, key),
})

/** The value inside `{"$secret": value}`, or undefined when the input does not have this form. */
function secretOf(input: Json, pointer: string): Json | undefined {
  if (!isObject(input) || !Object.hasOwn(input, '$secret')) return undefined
  // With other members it would be ambiguous which values are secret, and those members would be stored in plain text.
  if (Object.keys(input).length > 1)
    throw refuse(pointer, 'invalid_settings', '"$secret" must be the only member of its object.')
  const value = input.$secret ?? null
  if (isObject(value) && Object.hasOwn(value, '$secret')) {
    throw refuse(pointer, 'invalid_settings', '"$secret" must not contain another "$secret".')
  }
  return value
}

function requireDepth({ pointer, depth }: Place): void {
  if (depth >= maxSettingsDepth) {
    throw refuse(pointer, 'settings_too_deep', `Settings must not exceed ${maxSettingsDepth} levels of nesting.`)
  }
}

/** Throws for a key that is too long. Not called for stored keys, so that a patch can remove them. */
function requireShort(key: string, { pointer }: Place): void {
  // A code point has at most two UTF-16 units, so only keys within twice the limit need to be counted.
  const isTooLong = key.length > 2 * maxKeyLength || (key.length > maxKeyLength && [...key].length > maxKeyLength)
  if (isTooLong) throw refuse(pointer, 'invalid_settings', `A key must have at most ${maxKeyLength} characters.`)
}

function checked(key: string, value: Json, place: Place): Json {
  if (key === '__proto__') throw refuse(place.pointer, 'invalid_settings', 'The key "__proto__" is not allowed.')
  scalarOf(key, place.pointer)
  return value
}

/** Throws as `scalarOf` does, and for a text that refers to a built-in variable that does not exist. */
function storableValue<Scalar extends null | boolean | number | string>(
  value: Scalar,
  { pointer, refers }: Place,
): Scalar {
  if (refers && typeof value === 'string') {
    for (const [, name] of value.matchAll(placeholders)) {
      if (name === undefined || isReferable(name)) continue
      throw refuse(
        pointer,
        'invalid_settings',
        `There is no variable ${name}. Built in are: ${builtInVariables.join(', ')}.`,
      )
    }
  }
  return scalarOf(value, pointer)
}

/** Throws for values that the database cannot store: NUL, lone surrogates and numbers outside the range of a double. */
function scalarOf<Scalar extends null | boolean | number | string>(value: Scalar, pointer: string): Scalar {
  const isStorableText = typeof value !== 'string' || isStorable(value)
  if (isStorableText && (typeof value !== 'number' || Number.isFinite(value))) return value
  throw refuse(pointer, 'invalid_settings', 'This text or number cannot be stored.')
}

const tooLarge = ({ pointer }: Place) => refuse(pointer, 'settings_too_large', tooLargeText(pointer.slice(1)))

const refuse = (pointer: string, code: string, detail: string) => badRequest(detail, [{ pointer, code, detail }], code)
