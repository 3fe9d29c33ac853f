/**
 * Keeps many small records of bytes outside of the JavaScript heap, where garbage collection neither visits nor copies them.
 * Records of similar size share a page.
 */
export type ByteStore = {
  /** Stores a copy of the bytes. Returns its number, which `read` and `free` take. */
  put(bytes: Uint8Array): number
  /** Returns the bytes of a record. They are valid until the record is freed. */
  read(record: number): Buffer
  /** Removes a record. Its number may then be used for another one. */
  free(record: number): void
  /** Returns the bytes of all pages. */
  bytes(): number
}

/** `firstFree`: the slot that was freed last; each free slot has the number of the next one. `used`: the slots with a record. */
type Page = { memory: Buffer; slotBytes: number; slots: number; used: number; untouched: number; firstFree: number }

const pageBytes = 256 * 1024
/** A slot begins with the length of its record, or with the number of the next free slot. */
const headBytes = 4
const smallestSlotBytes = 64
/** A record's number is that of its page, and that of its slot in the page. */
const slotsPerPage = pageBytes / smallestSlotBytes
/** Slot sizes per doubling: a record leaves at most a sixteenth of its slot unused. */
const sizesPerDoubling = 16
const noSlot = -1

/** Creates an empty store. It frees a page that has no more records, unless it is the only one of its size with room. */
export function createByteStore(): ByteStore {
  const pages: (Page | undefined)[] = []
  const freePageNumbers: number[] = []
  /** Numbers of pages with room, by the size of their slots. The last one is filled first. */
  const withRoom = new Map<number, number[]>()
  let totalBytes = 0

  function addPage(slotBytes: number): number {
    const slots = Math.max(1, Math.floor(pageBytes / slotBytes))
    const memory = Buffer.allocUnsafeSlow(slots * slotBytes)
    const number = freePageNumbers.pop() ?? pages.length
    pages[number] = { memory, slotBytes, slots, used: 0, untouched: 0, firstFree: noSlot }
    totalBytes += memory.length
    return number
  }

  function removePage(number: number, { slotBytes, memory }: Page): void {
    const numbers = withRoom.get(slotBytes) ?? []
    numbers.splice(numbers.indexOf(number), 1)
    pages[number] = undefined
    freePageNumbers.push(number)
    totalBytes -= memory.length
  }

  function pageOf(record: number): Page {
    const page = pages[Math.floor(record / slotsPerPage)]
    if (!page) throw new Error(`There is no record ${record}.`)
    return page
  }

  function takeSlot(page: Page): number {
    page.used += 1
    if (page.firstFree === noSlot) return page.untouched++
    const slot = page.firstFree
    page.firstFree = page.memory.readInt32LE(slot * page.slotBytes)
    return slot
  }

  return {
    put(bytes) {
      const slotBytes = slotBytesFor(bytes.length + headBytes)
      let numbers = withRoom.get(slotBytes)
      if (!numbers) {
        numbers = []
        withRoom.set(slotBytes, numbers)
      }
      if (numbers.length === 0) numbers.push(addPage(slotBytes))
      const number = numbers.at(-1) as number
      const page = pageOf(number * slotsPerPage)
      const slot = takeSlot(page)
      if (page.used === page.slots) numbers.pop()
      const at = slot * slotBytes
      page.memory.writeInt32LE(bytes.length, at)
      page.memory.set(bytes, at + headBytes)
      return number * slotsPerPage + slot
    },
    read(record) {
      const { memory, slotBytes } = pageOf(record)
      const at = (record % slotsPerPage) * slotBytes
      const from = at + headBytes
      return memory.subarray(from, from + memory.readInt32LE(at))
    },
    free(record) {
      const page = pageOf(record)
      const number = Math.floor(record / slotsPerPage)
      const slot = record % slotsPerPage
      const numbers = withRoom.get(page.slotBytes) ?? []
      if (page.used === page.slots) numbers.push(number)
      page.used -= 1
      page.memory.writeInt32LE(page.firstFree, slot * page.slotBytes)
      page.firstFree = slot
      if (page.used === 0 && (numbers.length > 1 || page.slots === 1)) removePage(number, page)
    },
    bytes: () => totalBytes,
  }
}

/** Returns the smallest size of slots that has room for this number of bytes. */
function slotBytesFor(bytes: number): number {
  if (bytes <= smallestSlotBytes) return smallestSlotBytes
  const step = Math.max(1, 2 ** (31 - Math.clz32(bytes - 1)) / sizesPerDoubling)
  return Math.ceil(bytes / step) * step
}
