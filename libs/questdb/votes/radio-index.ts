/** A modem of a device. */
export type IndexedRadio = { deviceId: string; modem: string | null }

/** Finds radios by the bytes of a row, because a text for each of millions of rows would take longer than the rest of their work. */
export type RadioIndex = {
  /** Returns the index of the radio whose device and modem are the fields at `at`; -1 if it is not one of the radios. */
  indexAt(bytes: Buffer, at: number): number
}

const lengthBytes = 4
const uuidBytes = 36
const deviceBytes = lengthBytes + uuidBytes
const nullLength = -1
const free = -1

/** The last digits of a UUID are random. */
const hashAt = (bytes: Buffer, at: number): number =>
  (Math.imul(bytes.readInt32LE(at + 24), 0x9e3779b1) ^
    Math.imul(bytes.readInt32LE(at + 28), 0x85ebca6b) ^
    bytes.readInt32LE(at + 32)) >>>
  0

/** Radios of a device must follow each other. Device ids are UUIDs. */
export function createRadioIndex(radios: readonly IndexedRadio[]): RadioIndex {
  const ids = Buffer.from(radios.map(({ deviceId }) => deviceId).join(''), 'latin1')
  const modems = radios.map(({ modem }) => (modem === null ? undefined : Buffer.from(modem)))
  /** The first radio of a device by its hash, in a table that is at most half full. */
  const slots = new Int32Array(2 ** Math.ceil(Math.log2(2 * radios.length + 2))).fill(free)
  const mask = slots.length - 1

  function isDevice(radio: number, bytes: Buffer, at: number): boolean {
    const own = radio * uuidBytes
    for (let offset = uuidBytes - 4; offset >= 0; offset -= 4)
      if (ids.readInt32LE(own + offset) !== bytes.readInt32LE(at + offset)) return false
    return true
  }

  /** Returns the first radio of the device with this id, or the complement of its free slot, which is negative. */
  function find(bytes: Buffer, at: number): number {
    for (let slot = hashAt(bytes, at) & mask; ; slot = (slot + 1) & mask) {
      const radio = slots[slot] ?? free
      if (radio === free) return ~slot
      if (isDevice(radio, bytes, at)) return radio
    }
  }

  function hasModem(radio: number, bytes: Buffer, at: number): boolean {
    const modem = modems[radio]
    const length = bytes.readInt32BE(at)
    if (modem === undefined || length !== modem.length) return modem === undefined && length === nullLength
    for (let index = 0; index < length; index++) if (modem[index] !== bytes[at + lengthBytes + index]) return false
    return true
  }

  for (let radio = 0; radio < radios.length; radio++) {
    const found = find(ids, radio * uuidBytes)
    if (found < 0) slots[~found] = radio
  }

  return {
    indexAt(bytes, at) {
      if (bytes.readInt32BE(at) !== uuidBytes) return -1
      const first = find(bytes, at + lengthBytes)
      if (first < 0) return -1
      for (let radio = first; radio < radios.length && isDevice(radio, bytes, at + lengthBytes); radio++)
        if (hasModem(radio, bytes, at + deviceBytes)) return radio
      return -1
    },
  }
}
