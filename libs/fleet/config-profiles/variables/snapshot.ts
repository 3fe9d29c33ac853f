import { openTree, type SettingsPlace, type StoredSettings } from '#fleet/config-profiles/sealed-settings'
import type { Json } from '#fleet/config-profiles/settings-tree'
import type { VariableValue } from '#fleet/config-profiles/variables/template'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Queryable } from '#postgres/pool'

/** Where a value is from. A group has the name and the priority that decided. */
type VariableSource =
  | { kind: 'device' | 'organization' }
  | { kind: 'group'; id: string; name: string; priority: number }
  | { kind: 'builtIn' }

/** The value of a variable as stored with a job: redacted, with its secrets sealed for the set of `ownerId`. */
type StoredVariable = {
  value: Json
  secrets: StoredSettings['secrets']
  ownerId: string
  updatedAt: string
  source: VariableSource
}

/** Stored values by the name of the variable. */
export type StoredVariables = { [name: string]: StoredVariable }

/** The secrets of a variable are bound to the organization, group or device of its set, and to their pointers in it. */
export const placeOfSet = (organizationId: string, ownerId: string): SettingsPlace => ({
  organizationId,
  parts: ['variables', ownerId],
})

/** Decrypts stored values, by the names of their variables. */
export async function openVariables(
  db: Queryable,
  keyring: Keyring,
  organizationId: string,
  variables: StoredVariables,
): Promise<Map<string, VariableValue>> {
  const sets = new Map<string, StoredSettings>()
  for (const [name, { ownerId, value, secrets }] of Object.entries(variables)) {
    const set = sets.get(ownerId) ?? { settings: {}, secrets: {} }
    sets.set(ownerId, { settings: { ...set.settings, [name]: value }, secrets: { ...set.secrets, ...secrets } })
  }
  const values = new Map<string, VariableValue>()
  for (const [ownerId, set] of sets) {
    const tree = await openTree(db, keyring, placeOfSet(organizationId, ownerId), set)
    for (const [name, value] of Object.entries(tree)) {
      const updatedAt = variables[name]?.updatedAt
      if (updatedAt !== undefined) values.set(name, { value, updatedAt })
    }
  }
  return values
}
