import { fieldTable, type Kind } from '#telemetry/report/fields'
import type { AdapterSample } from './adapter-sample.ts'
import type { DroppedFields } from './dropped-fields.ts'
import { setField } from './sample-set.ts'

/** Returns whether a protocol that uses our own names can set the field. Lists have no form in such protocols. */
export function isOwnField(kind: Kind, name: string): boolean {
  if (name === 'ageMs') return kind === 'location'
  return Object.hasOwn(fieldTable[kind], name) && name !== 'cells'
}

/** Sets a field by our own name. Another name, or a value of another type, is dropped and counted. */
export function setOwnField(sample: AdapterSample, name: string, value: unknown, dropped: DroppedFields): void {
  if (isOwnField(sample.kind, name)) setField(sample, name, value, dropped)
  else dropped.add(`${sample.kind}.${name}`, 'unmapped')
}
