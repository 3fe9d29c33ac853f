import { namesSecret } from '#fleet/config-profiles/secret-names'
import {
  isReference,
  isSettingsObject,
  type Json,
  revealSecrets,
  type SettingsObject,
  SettingsSecret,
  type SettingsTree,
} from '#fleet/config-profiles/settings-tree'
import { placeholders } from '#fleet/config-profiles/variables/names'

// Settings refer to variables in two forms: {"$var": name, "default"?: any} stands for the whole value, and "${name}" for a part
// of a text. Both count inside secrets as well. Values and defaults are used as they are: a "${…}" in them is plain text.

/** How often settings use a variable, and whether it must have a value. */
export type VariableUse = { uses: number; required: boolean }

/** A value with the time of its last change, which a secret made from it shows. */
export type VariableValue = { value: SettingsTree; updatedAt: string }

const parsed = (secret: SettingsSecret) => JSON.parse(secret.reveal()) as Json

/**
 * The variables that settings use, by name. Undefined if the settings have no reference and no `$${`: they are sent as they are.
 */
export function variablesOf(settings: SettingsObject): Map<string, VariableUse> | undefined {
  const found = new Map<string, VariableUse>()
  let isTemplate = false
  const use = (name: string, required: boolean) => {
    const before = found.get(name)
    found.set(name, { uses: (before?.uses ?? 0) + 1, required: required || before?.required === true })
  }
  const visit = (tree: SettingsTree): void => {
    if (typeof tree === 'string') {
      for (const [, name] of tree.matchAll(placeholders)) {
        isTemplate = true
        if (name !== undefined) use(name, true)
      }
    } else if (tree instanceof SettingsSecret) visit(parsed(tree))
    else if (Array.isArray(tree)) tree.forEach(visit)
    else if (isReference(tree)) {
      isTemplate = true
      use(tree.$var, !Object.hasOwn(tree, 'default'))
    } else if (isSettingsObject(tree)) Object.values(tree).forEach(visit)
  }
  visit(settings)
  return isTemplate ? found : undefined
}

/** Settings with the values of their variables, and the names of the required ones that have none. */
export type RenderedSettings = { settings: SettingsObject; missing: string[] }

/**
 * Puts the values of variables into settings. A value at a key that names a secret is a secret, and a text that contains a part
 * of a secret is one. A reference without a value remains as it is.
 */
export function renderSettings(settings: SettingsObject, values: ReadonlyMap<string, VariableValue>): RenderedSettings {
  const missing = new Set<string>()
  const rendered = renderTree(settings, false, { values, missing }) as SettingsObject
  return { settings: rendered, missing: [...missing].sort() }
}

type Rendering = { values: ReadonlyMap<string, VariableValue>; missing: Set<string> }

function renderTree(tree: SettingsTree, isSecret: boolean, rendering: Rendering): SettingsTree {
  if (typeof tree === 'string') return renderText(tree, rendering)
  if (tree instanceof SettingsSecret) {
    const inner = renderTree(parsed(tree), false, rendering)
    return inner === null ? null : asSecret(inner, tree.updatedAt)
  }
  if (Array.isArray(tree)) return tree.map((item) => renderTree(item, false, rendering))
  if (isReference(tree)) return renderReference(tree, isSecret, rendering)
  if (!isSettingsObject(tree)) return tree
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => [key, renderTree(value, namesSecret(key), rendering)]),
  )
}

function renderReference(
  reference: SettingsObject & { $var: string },
  isSecret: boolean,
  rendering: Rendering,
): SettingsTree {
  const found = rendering.values.get(reference.$var)
  if (found) return isSecret && found.value !== null ? asSecret(found.value, found.updatedAt) : found.value
  if (Object.hasOwn(reference, 'default')) return reference.default ?? null
  rendering.missing.add(reference.$var)
  return reference
}

/** Texts, numbers and truth values stand in a text as they are, all others as JSON. */
function renderText(text: string, { values, missing }: Rendering): SettingsTree {
  let secretSince: string | undefined
  const rendered = text.replace(placeholders, (whole, name: string | undefined) => {
    if (name === undefined) return whole.slice(1)
    const found = values.get(name)
    if (!found) {
      missing.add(name)
      return whole
    }
    const plain = plainOf(found.value)
    if (containsSecret(found.value)) secretSince = found.updatedAt
    return typeof plain === 'object' ? JSON.stringify(plain) : String(plain)
  })
  return secretSince === undefined ? rendered : new SettingsSecret(JSON.stringify(rendered), secretSince)
}

const asSecret = (tree: SettingsTree, updatedAt: string): SettingsSecret =>
  tree instanceof SettingsSecret ? tree : new SettingsSecret(JSON.stringify(plainOf(tree)), updatedAt)

const plainOf = (tree: SettingsTree): Json => revealSecrets({ tree }).tree ?? null

function containsSecret(tree: SettingsTree): boolean {
  if (tree instanceof SettingsSecret) return true
  if (Array.isArray(tree)) return tree.some(containsSecret)
  return isSettingsObject(tree) && Object.values(tree).some(containsSecret)
}
