import { fieldsOf, type Kind, kinds } from '#telemetry/report/fields'
import { isOwnField } from '../own-fields.ts'

const prefix = 'routerfleet.'

/** The kinds of each field that a gauge can hold. */
const kindsByField = new Map<string, Kind[]>()
for (const kind of kinds) {
  for (const [field] of fieldsOf(kind)) kindsByField.set(field, [...(kindsByField.get(field) ?? []), kind])
}

/**
 * Returns the field that a metric is named after: `cellular.rsrpDbm`, or `rsrpDbm` if only one kind has such a field, both
 * with or without the prefix `routerfleet.`. Undefined for other names.
 */
export function fieldOfMetric(name: string): { kind: Kind; field: string } | undefined {
  const own = name.startsWith(prefix) ? name.slice(prefix.length) : name
  const dot = own.indexOf('.')
  if (dot < 0) {
    const [kind, ...others] = kindsByField.get(own) ?? []
    return kind && others.length === 0 && isOwnField(kind, own) ? { kind, field: own } : undefined
  }
  const [kind, field] = [kinds.find((known) => known === own.slice(0, dot)), own.slice(dot + 1)]
  return kind && isOwnField(kind, field) ? { kind, field } : undefined
}
