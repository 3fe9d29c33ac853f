import type { VariableUse } from '#fleet/config-profiles/variables/template'

// Which value of a variable counts for a device: that of the device, of its group with the highest priority (then by name), or
// of the organization. Smart tags make members only if the plan includes them. One statement answers it for many devices.

/** The longest JSON of rendered settings. */
const maxRenderedBytes = 256 * 1024

/** The parameters of `variableCtes`: the variables that settings use, and the size of the settings. */
export type VariableParameters = {
  variableNames: string[]
  variableUses: number[]
  requiredVariables: string[]
  settingsBytes: number
  countsSmartTags: boolean
}

export function variableParameters(
  variables: ReadonlyMap<string, VariableUse>,
  settings: { bytes: number; countsSmartTags: boolean },
): VariableParameters {
  const used = [...variables]
  return {
    variableNames: used.map(([name]) => name),
    variableUses: used.map(([, { uses }]) => uses),
    requiredVariables: used.filter(([, { required }]) => required).map(([name]) => name),
    settingsBytes: settings.bytes,
    countsSmartTags: settings.countsSmartTags,
  }
}

const instant = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const secretsOfVariable = `(SELECT coalesce(jsonb_object_agg(secret.key, secret.value), '{}') FROM jsonb_each(s.secrets) secret
  WHERE secret.key = '/' || used.name OR starts_with(secret.key, '/' || used.name || '/'))`

const sourceOfSet = `CASE WHEN s.device_id IS NOT NULL THEN jsonb_build_object('kind', 'device')
  WHEN s.group_id IS NOT NULL THEN jsonb_build_object('kind', 'group', 'id', g.id, 'name', g.name, 'priority', s.priority)
  ELSE jsonb_build_object('kind', 'organization') END`

/**
 * CTEs that end with `device_variables (id, variables, missing, rendered_bytes)`: for each row of the CTE `devices`, which has
 * id, name, serial, model, tags and updated_at, its values as `StoredVariables`, the required ones without a value, and the most
 * bytes that the rendered settings can have.
 */
export const variableCtes = (devices: string): string => `
  variable_value AS MATERIALIZED (
    SELECT s.owner_id, s.group_id, s.device_id, s.priority, g.name AS group_name, used.name AS variable,
      CASE WHEN $countsSmartTags::boolean THEN g.smart_tags END AS smart_tags,
      jsonb_build_object('value', s.variables -> used.name, 'secrets', ${secretsOfVariable}, 'ownerId', s.owner_id,
        'updatedAt', ${instant('s.updated_at')}, 'source', ${sourceOfSet}) AS stored
    FROM config_variable_set s
      JOIN unnest($variableNames::text[]) AS used (name) ON s.variables ? used.name
      LEFT JOIN device_group g ON g.organization_id = s.organization_id AND g.id = s.group_id
    WHERE s.organization_id = $organizationId AND (s.device_id IS NULL OR s.device_id IN (SELECT id FROM ${devices}))
  ), applying_value AS (
    SELECT device_id AS id, 0 AS level, variable, priority, group_name, owner_id FROM variable_value
    WHERE device_id IS NOT NULL
    UNION ALL
    SELECT m.device_id, 1, v.variable, v.priority, v.group_name, v.owner_id
    FROM variable_value v JOIN device_group_member m ON m.organization_id = $organizationId AND m.group_id = v.group_id
    WHERE m.device_id IN (SELECT id FROM ${devices})
    UNION ALL
    SELECT d.id, 1, v.variable, v.priority, v.group_name, v.owner_id
    FROM variable_value v JOIN ${devices} d ON d.tags && v.smart_tags
    UNION ALL
    SELECT d.id, 2, v.variable, v.priority, v.group_name, v.owner_id
    FROM variable_value v CROSS JOIN ${devices} d WHERE v.device_id IS NULL AND v.group_id IS NULL
  ), winning_value AS (
    SELECT DISTINCT ON (id, variable) id, variable, owner_id FROM applying_value
    ORDER BY id, variable, level, priority DESC, group_name COLLATE "C", owner_id
  ), value_of_device AS (
    SELECT w.id, w.variable, v.stored FROM winning_value w JOIN variable_value v USING (owner_id, variable)
    UNION ALL
    SELECT d.id, built_in.name, jsonb_build_object('value', built_in.value, 'secrets', jsonb_build_object(), 'ownerId', d.id,
      'updatedAt', ${instant('d.updated_at')}, 'source', jsonb_build_object('kind', 'builtIn'))
    FROM ${devices} d CROSS JOIN LATERAL (VALUES ('device.name', to_jsonb(d.name)), ('device.serial', to_jsonb(d.serial)),
      ('device.model', to_jsonb(d.model)), ('device.tags', to_jsonb(d.tags))) AS built_in (name, value)
    WHERE built_in.name = ANY ($variableNames::text[])
  ), values_of_device AS (
    SELECT v.id, jsonb_object_agg(v.variable, v.stored) AS variables,
      sum(used.uses * (octet_length((v.stored -> 'value')::text) + octet_length((v.stored -> 'secrets')::text))) AS bytes
    FROM value_of_device v
      JOIN unnest($variableNames::text[], $variableUses::int[]) AS used (name, uses) ON used.name = v.variable
    GROUP BY v.id
  ), device_variables AS MATERIALIZED (
    SELECT d.id, coalesce(v.variables, '{}') AS variables, $settingsBytes::int + coalesce(v.bytes, 0) AS rendered_bytes,
      ARRAY (SELECT name FROM unnest($requiredVariables::text[]) AS required (name)
             WHERE v.variables IS NULL OR NOT v.variables ? name ORDER BY name) AS missing
    FROM ${devices} d LEFT JOIN values_of_device v ON v.id = d.id
  )`

/** SQL: the reason for which a device of `device_variables v` cannot receive the settings, or null. */
export const variablesReasonSql = `CASE WHEN v.missing <> '{}' THEN 'missing_variable'
  WHEN v.rendered_bytes > ${maxRenderedBytes} THEN 'settings_too_large' END`
