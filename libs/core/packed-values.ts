/** Plain data: null, undefined, booleans, numbers, text, and lists and objects of these. */
export type Packable = null | undefined | boolean | number | string | readonly Packable[] | PackableRecord
type PackableRecord = { [name: string]: Packable }

/**
 * Packs plain data into bytes. The names of an object's members are not packed: the packer keeps each list of names once. After
 * 1,000 different lists, which only names from outside the code can have, it packs further names with their object.
 */
export type ValuePacker = {
  /** Returns the packed value. The bytes are valid until the next call. */
  pack(value: Packable): Buffer
  /**
   * A copy of the value that this packer has packed, or one that began with its lists of names. Throws an Error if the bytes are
   * incomplete.
   */
  unpack(packed: Buffer): Packable
  /** The lists of names that packed values refer to, from number `from` on. */
  names(from: number): (readonly string[])[]
}

const [isNull, isFalse, isTrue, isInt32, isInt48, isDouble, isLatin1, isWideText, isList] = [0, 1, 2, 3, 4, 5, 6, 7, 8]
const [isUndefined, isRecord, isNamedRecord] = [9, 10, 11]
/** From this tag on, the tag is the number itself plus this offset. */
const firstSmall = 16
const maxSmall = 255 - firstSmall
const int47 = 2 ** 47
/** The longest value without its content: a tag and eight bytes. */
const headBytes = 9

/**
 * Each value is a tag of one byte, followed by its content. Lists and texts start with their length, objects with the number
 * of their list of names. Numbers keep their exact value, including −0, NaN and infinities. `knownNames`: all lists of names of
 * an earlier packer, to unpack its values.
 */
// Long because reading and writing share the tables of names and the buffer, on the path of every report.
export function createValuePacker(knownNames: readonly (readonly string[])[] = []): ValuePacker {
  let bytes = Buffer.allocUnsafe(4_096)
  let at = 0
  /** The bytes that are read. */
  let source: Buffer = bytes
  const shapes = createShapes()
  for (const names of knownNames) shapes.numberOf(recordOf(names), names)

  const reserve = (count: number): void => {
    if (at + count <= bytes.length) return
    const longer = Buffer.allocUnsafe(Math.max(2 * bytes.length, at + count))
    bytes.copy(longer, 0, 0, at)
    bytes = longer
  }
  const writeTag = (tag: number): void => {
    bytes[at++] = tag
  }
  const writeNumber = (value: number): void => {
    if (!Number.isInteger(value) || value < -int47 || value >= int47 || Object.is(value, -0)) {
      writeTag(isDouble)
      at = bytes.writeDoubleLE(value, at)
    } else if (value >= 0 && value <= maxSmall) writeTag(firstSmall + value)
    else if (value === (value | 0)) {
      writeTag(isInt32)
      at = bytes.writeInt32LE(value, at)
    } else {
      writeTag(isInt48)
      at = bytes.writeIntLE(value, at, 6)
    }
  }
  const writeText = (text: string): void => {
    const isNarrow = isLatin1Text(text)
    writeTag(isNarrow ? isLatin1 : isWideText)
    at = bytes.writeUInt32LE(text.length, at)
    reserve(isNarrow ? text.length : 2 * text.length)
    at += bytes.write(text, at, isNarrow ? 'latin1' : 'utf16le')
  }
  const writeRecord = (record: PackableRecord): void => {
    const names = Object.keys(record)
    const number = shapes.numberOf(record, names)
    if (number === undefined) {
      writeNamedRecord(record, names)
      return
    }
    writeTag(isRecord)
    at = bytes.writeUInt16LE(number, at)
    for (const name of names) write(record[name])
  }
  const writeNamedRecord = (record: PackableRecord, names: readonly string[]): void => {
    writeTag(isNamedRecord)
    at = bytes.writeUInt32LE(names.length, at)
    for (const name of names) {
      reserve(headBytes)
      writeText(name)
      write(record[name])
    }
  }
  const write = (value: Packable): void => {
    reserve(headBytes)
    if (value === null) writeTag(isNull)
    else if (value === undefined) writeTag(isUndefined)
    else if (typeof value === 'number') writeNumber(value)
    else if (typeof value === 'string') writeText(value)
    else if (typeof value === 'boolean') writeTag(value ? isTrue : isFalse)
    else if (isReadonlyArray(value)) {
      writeTag(isList)
      at = bytes.writeUInt32LE(value.length, at)
      for (const item of value) write(item)
    } else writeRecord(value)
  }

  /** Returns where the next content of this length starts, and moves behind it. */
  const take = (count: number): number => {
    const from = at
    at += count
    if (at > source.length) throw new Error('The packed value is incomplete.')
    return from
  }
  const readList = (): Packable[] => {
    const items: Packable[] = []
    for (let left = source.readUInt32LE(take(4)); left > 0; left--) items.push(read())
    return items
  }
  const readText = (isWide: boolean): string => {
    const length = source.readUInt32LE(take(4))
    const from = take(isWide ? 2 * length : length)
    return source.toString(isWide ? 'utf16le' : 'latin1', from, at)
  }
  const readRecord = (): Packable => {
    const { names, template } = shapes.at(source.readUInt16LE(take(2)))
    const record = { ...template }
    for (const name of names) record[name] = read()
    return record
  }
  const readNamedRecord = (): Packable => {
    const members: [name: string, value: Packable][] = []
    for (let left = source.readUInt32LE(take(4)); left > 0; left--) {
      const isWide = source[take(1)] === isWideText
      members.push([readText(isWide), read()])
    }
    return Object.fromEntries(members)
  }
  const read = (): Packable => {
    const tag = source[take(1)] ?? 0
    if (tag >= firstSmall) return tag - firstSmall
    if (tag === isNull) return null
    if (tag === isInt48) return source.readIntLE(take(6), 6)
    if (tag === isDouble) return source.readDoubleLE(take(8))
    if (tag === isList) return readList()
    if (tag === isLatin1 || tag === isWideText) return readText(tag === isWideText)
    if (tag === isInt32) return source.readInt32LE(take(4))
    if (tag === isRecord) return readRecord()
    if (tag === isUndefined) return undefined
    if (tag === isNamedRecord) return readNamedRecord()
    return tag === isTrue
  }

  return {
    pack(value) {
      at = 0
      write(value)
      return bytes.subarray(0, at)
    },
    unpack(packed) {
      at = 0
      source = packed
      return read()
    },
    names: shapes.namesFrom,
  }
}

/** Returns a record with these names, in their order. Parsed, because members that are set one by one make slow objects. */
const recordOf = (names: readonly string[]): PackableRecord =>
  JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:null`).join()}}`) as PackableRecord

function isLatin1Text(text: string): boolean {
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) > 0xff) return false
  return true
}

// Array.isArray does not narrow a union with a readonly array.
const isReadonlyArray = (value: Packable): value is readonly Packable[] => Array.isArray(value)

const maxShapes = 1_000

/**
 * Numbers up to `maxShapes` lists of names. A tree of names finds a list without joining them. Objects are copies of a template, because
 * objects that get many members one by one are slower and larger.
 */
function createShapes() {
  type Shape = { names: readonly string[]; template: PackableRecord }
  type Node = { next: Map<string, Node>; number: number | undefined }
  const root: Node = { next: new Map(), number: undefined }
  const shapes: Shape[] = []
  let last = { names: [] as readonly string[], number: 0 }

  const isLast = (names: readonly string[]): boolean =>
    names.length > 0 && names.length === last.names.length && names.every((name, index) => name === last.names[index])
  const add = (record: PackableRecord, names: readonly string[]): number => {
    const template = { ...record }
    for (const name of names) template[name] = null
    return shapes.push({ names, template }) - 1
  }
  return {
    /** Undefined for a new list when there are too many. */
    numberOf(record: PackableRecord, names: readonly string[]): number | undefined {
      // The items of a list usually have the same names.
      if (isLast(names)) return last.number
      const isFull = shapes.length >= maxShapes
      let node = root
      for (const name of names) {
        let next = node.next.get(name)
        if (!next) {
          // Assigning a member with this name would set the prototype.
          if (isFull || name === '__proto__') return undefined
          next = { next: new Map(), number: undefined }
          node.next.set(name, next)
        }
        node = next
      }
      if (node.number === undefined) {
        if (isFull) return undefined
        node.number = add(record, names)
      }
      last = { names, number: node.number }
      return node.number
    },
    namesFrom: (from: number) => shapes.slice(from).map(({ names }) => names),
    at(number: number): Shape {
      const shape = shapes[number]
      if (!shape) throw new Error('The packed value is of another packer.')
      return shape
    },
  }
}
