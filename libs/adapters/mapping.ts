import type { fieldTable, Kind } from '#telemetry/report/fields'
import { type Conversion, noValue, unusable } from './conversions.ts'
import type { DroppedFields } from './dropped-fields.ts'
import { isRecord } from './json.ts'
import { isQuality, unknownWord } from './unknown-quality.ts'

type FieldOf<K extends Kind> = `${K}.${Extract<keyof (typeof fieldTable)[K], string>}`

/** A field of ours, such as `cellular.rsrpDbm`. */
type FieldPath = { [K in Kind]: FieldOf<K> }[Kind]

/**
 * One line of a maker's table: the value at `from` (member names joined by dots), converted, is the value of the fields `to`.
 * If several lines have the same field, the first one with a value is used.
 */
type Mapping = { from: string; to: readonly FieldPath[]; as: Conversion }

/** All mappings of one kind of object that a maker sends. The code, the tests and docs/adapters.md use the same table. */
export type MakerTable = {
  title: string
  /** The path of the object in the report, for documentation and metrics. Empty for the report itself. */
  at: string
  /** The object is an element of a list. */
  isListed?: true
  /** Where the maker documents the object. */
  source: string
  /** Words that mean "no value" in every field whose own words they are not, in any case. */
  noValue: readonly string[]
  mappings: readonly Mapping[]
}

type Line = { kind: Kind; field: string; as: Conversion; rank: number }
type Node = { lines: Line[]; members: Map<string, Node> }

/** The converted fields of an object by kind. */
export type MappedFields = Map<Kind, Map<string, unknown>>

export type TableReader = (object: unknown, dropped: DroppedFields, into?: MappedFields) => MappedFields

/** Compiles a table. The reader visits each member once and does not descend into members that no line names. */
export function compileTable({ at, noValue: markers, mappings }: MakerTable): TableReader {
  const root: Node = { lines: [], members: new Map() }
  mappings.forEach(({ from, to, as }, rank) => {
    for (const path of to) {
      const [kind, field = ''] = path.split('.') as [Kind, string]
      addLine(root, from.split('.'), { kind, field, as, rank })
    }
  })
  const words = new Set(markers.map((marker) => marker.toLowerCase()))
  const isMarker = (value: unknown) =>
    value === null || value === undefined || (typeof value === 'string' && words.has(value.trim().toLowerCase()))

  /** A word that says that there is no value, not an empty member. */
  const isMarkerText = (value: unknown) => typeof value === 'string' && value.trim() !== '' && isMarker(value)

  /** A word of the field itself, such as None for no service. */
  const isWordOf = ({ known }: Conversion, sent: unknown) =>
    typeof sent === 'string' && known?.some((word) => word.toLowerCase() === sent.trim().toLowerCase()) === true

  const nameOf = (path: string) => (at === '' ? path : `${at}.${path}`)

  return (object, dropped, into = new Map()) => {
    const ranks = new Map<string, number>()
    const unknown = new Set<FieldPath>()
    /** Returns false if the value cannot be converted. */
    const set = ({ kind, field, rank, as }: Line, sent: unknown): boolean => {
      const path = `${kind}.${field}` as FieldPath
      const value = isMarker(sent) && !isWordOf(as, sent) ? noValue : as.read(sent)
      if (isQuality(path) && (value === unusable || isMarkerText(sent))) unknown.add(path)
      if (value === unusable) return false
      if (value === noValue || value === null || value === undefined) return true
      if ((ranks.get(path) ?? Number.POSITIVE_INFINITY) < rank) return true
      ranks.set(path, rank)
      const fields = into.get(kind) ?? new Map<string, unknown>()
      into.set(kind, fields.set(field, value))
      return true
    }
    const walk = (node: Node, value: unknown, path: string) => {
      const isRead = node.lines.map((line) => set(line, value))
      if (isRead.includes(false)) dropped.add(nameOf(path), 'unusable')
      if (node.members.size === 0 || !isRecord(value)) {
        if (node.lines.length === 0 && !isMarker(value)) dropped.add(nameOf(path), 'unmapped')
        return
      }
      for (const [name, inner] of Object.entries(value)) {
        const innerPath = path === '' ? name : `${path}.${name}`
        const member = node.members.get(name)
        if (member) walk(member, inner, innerPath)
        else if (!isMarker(inner)) dropped.add(nameOf(innerPath), 'unmapped')
      }
    }
    walk(root, object, '')
    for (const path of unknown) markUnknown(path, into)
    return into
  }
}

/** The sample must say that the quality of its position cannot be read, if nothing else says what it is. */
function markUnknown(path: FieldPath, into: MappedFields): void {
  const [kind, field = ''] = path.split('.') as [Kind, string]
  const fields = into.get(kind) ?? new Map<string, unknown>()
  into.set(kind, fields)
  if (!fields.has(field)) fields.set(field, unknownWord)
}

function addLine(root: Node, path: readonly string[], line: Line): void {
  let node = root
  for (const name of path) {
    const next = node.members.get(name) ?? { lines: [], members: new Map() }
    node.members.set(name, next)
    node = next
  }
  node.lines.push(line)
}
