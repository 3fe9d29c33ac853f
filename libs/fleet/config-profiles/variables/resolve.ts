import { isBuiltIn } from '#fleet/config-profiles/variables/names'
import type { VariableUse } from '#fleet/config-profiles/variables/template'

// Which value of a variable counts for a device: that of the device, of its group with the highest priority (then by name), or
// of the organization. Smart tags make members only if the plan includes them. One statement answers it for many devices.

/** The longest JSON of rendered settings. */
const maxRenderedBytes = 256 * 1024

/** The parameters of `variableCtes`: the variables that settings use, those that need a set, and the size of the settings. */
export type VariableParameters = {
  variableNames: string[]
  variableUses: number[]
  requiredVariables: string[]
  usesBuiltIns: boolean
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
    requiredVariables: used.filter(([name, { required }]) => required && !isBuiltIn(name)).map(([name]) => name),
    usesBuiltIns: used.some(([name]) => isBuiltIn(name)),
    settingsBytes: settings.bytes,
    countsSmartTags: settings.countsSmartTags,
  }
}

const instant = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const secretsOfVariable = `(SELECT coalesce(jsonb_object_agg(secret.key, secret.value), '{}') AS secrets FROM jsonb_each(s.secrets) secret
  WHERE secret.key = '/' || used.name OR starts_with(secret.key, '/' || used.name || '/'))`

const sourceOfSet = `CASE WHEN s.device_id IS NOT NULL THEN jsonb_build_object('kind', 'device')
  WHEN s.group_id IS NOT NULL THEN jsonb_build_object('kind', 'group', 'id', g.id, 'name', g.name, 'priority', s.priority)
  ELSE jsonb_build_object('kind', 'organization') END`

/**
 * CTEs that end with `device_variables (id, variables, missing, rendered_bytes)`: for each row of the CTE `devices`, which has
 * id, name, serial, model, tags and updated_at, its values as `StoredVariables`, the required ones without a value, and the most
 * bytes that the rendered settings can have. `rank` says which of two values counts, the lower one. Many devices have the same
 * values, so that the JSON of each combination is made once.
 */
export const variableCtes = (devices: string): string => `
  variable_value AS MATERIALIZED (
    SELECT s.group_id, s.device_id, used.name AS variable, used.ordinal,
      CASE WHEN $countsSmartTags::boolean THEN g.smart_tags END AS smart_tags,
      used.uses * (octet_length((s.variables -> used.name)::text) + octet_length(own.secrets::text)) AS bytes,
      row_number() OVER (ORDER BY s.device_id IS NULL, s.group_id IS NULL, s.priority DESC, g.name COLLATE "C", s.owner_id,
        used.ordinal) AS rank,
      jsonb_build_object('value', s.variables -> used.name, 'secrets', own.secrets, 'ownerId', s.owner_id,
        'updatedAt', ${instant('s.updated_at')}, 'source', ${sourceOfSet}) AS stored
    FROM config_variable_set s
      JOIN unnest($variableNames::text[], $variableUses::int[]) WITH ORDINALITY AS used (name, uses, ordinal)
        ON s.variables ? used.name
      CROSS JOIN LATERAL ${secretsOfVariable} own
      LEFT JOIN device_group g ON g.organization_id = s.organization_id AND g.id = s.group_id
    WHERE s.organization_id = $organizationId AND (s.device_id IS NULL OR s.device_id IN (SELECT id FROM ${devices}))
  ), applying_value AS (
    SELECT device_id AS id, ordinal, rank FROM variable_value WHERE device_id IS NOT NULL
    UNION ALL
    SELECT m.device_id, v.ordinal, v.rank
    FROM variable_value v JOIN device_group_member m ON m.organization_id = $organizationId AND m.group_id = v.group_id
    WHERE m.device_id IN (SELECT id FROM ${devices})
    UNION ALL
    SELECT d.id, v.ordinal, v.rank FROM variable_value v JOIN ${devices} d ON d.tags && v.smart_tags
    UNION ALL
    SELECT d.id, v.ordinal, v.rank FROM variable_value v CROSS JOIN ${devices} d
    WHERE v.device_id IS NULL AND v.group_id IS NULL
  ), ranks_of_device AS MATERIALIZED (
    SELECT id, array_agg(rank ORDER BY rank) AS ranks
    FROM (SELECT id, min(rank) AS rank FROM applying_value GROUP BY id, ordinal) winning GROUP BY id
  ), combination AS MATERIALIZED (
    SELECT c.ranks, jsonb_object_agg(v.variable, v.stored) AS variables, sum(v.bytes) AS bytes
    FROM (SELECT DISTINCT ranks FROM ranks_of_device) c CROSS JOIN LATERAL unnest(c.ranks) AS winning (rank)
      JOIN variable_value v ON v.rank = winning.rank
    GROUP BY c.ranks
  ), device_variables AS MATERIALIZED (
    SELECT d.id, coalesce(c.variables, '{}') || coalesce(built_in.variables, '{}') AS variables,
      $settingsBytes::int + coalesce(c.bytes, 0) + coalesce(built_in.bytes, 0) AS rendered_bytes,
      CASE WHEN c.variables ?& $requiredVariables::text[] THEN '{}' ELSE ARRAY (
        SELECT name FROM unnest($requiredVariables::text[]) AS required (name)
        WHERE c.variables IS NULL OR NOT c.variables ? name ORDER BY name) END AS missing
    FROM ${devices} d
      LEFT JOIN ranks_of_device r ON r.id = d.id
      LEFT JOIN combination c ON c.ranks = r.ranks
      LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(used.name, jsonb_build_object('value', one.value, 'secrets', jsonb_build_object(),
            'ownerId', d.id, 'updatedAt', ${instant('d.updated_at')}, 'source', jsonb_build_object('kind', 'builtIn'))) AS variables,
          sum(used.uses * octet_length(one.value::text)) AS bytes
        FROM (VALUES ('device.name', to_jsonb(d.name)), ('device.serial', to_jsonb(d.serial)),
            ('device.model', to_jsonb(d.model)), ('device.tags', to_jsonb(d.tags))) AS one (name, value)
          JOIN unnest($variableNames::text[], $variableUses::int[]) AS used (name, uses) ON used.name = one.name
      ) built_in ON $usesBuiltIns::boolean
  )`

/** SQL: the reason for which a device of `device_variables v` cannot receive the settings, or null. */
export const variablesReasonSql = `CASE WHEN v.missing <> '{}' THEN 'missing_variable'
  WHEN v.rendered_bytes > ${maxRenderedBytes} THEN 'settings_too_large' END`
