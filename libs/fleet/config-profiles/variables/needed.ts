import { loadSettings } from '#fleet/config-profiles/secrets'
import { revealSecrets, type SettingsObject } from '#fleet/config-profiles/settings-tree'
import { type VariableParameters, variableParameters } from '#fleet/config-profiles/variables/resolve'
import { variablesOf } from '#fleet/config-profiles/variables/template'
import type { FleetContext } from '#fleet/context'
import { readEntitlement } from '#fleet/organizations/subscriptions'
import type { Connection } from '#postgres/pool'

type NeededVariables = {
  settings: SettingsObject
  /** Null for settings that use none. */
  parameters: VariableParameters | null
}

/** The settings of a version that exists, with the variables that they use. */
export async function readNeededVariables(
  ctx: Pick<FleetContext, 'keyring' | 'plans'>,
  connection: Connection,
  version: { organizationId: string; profileId: string; version: number },
): Promise<NeededVariables> {
  const settings = await loadSettings(connection, ctx.keyring, version)
  if (!settings) throw new Error('The version of the profile is missing.')
  const variables = variablesOf(settings)
  if (variables === undefined) return { settings, parameters: null }
  const { plan } = await readEntitlement(ctx, connection, version.organizationId)
  const bytes = Buffer.byteLength(JSON.stringify(revealSecrets(settings)))
  return { settings, parameters: variableParameters(variables, { bytes, countsSmartTags: plan.smartTagGroups }) }
}
