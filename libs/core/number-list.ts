import { type ByteRecord, countIn, place } from './byte-record.ts'

/** Doubles that grow, in memory that is kept for the next use and copied as bytes. Plain records with functions, for hot paths. */
export type NumberList = { length: number; numbers: Float64Array; bytes: Buffer }

const firstNumbers = 32
const numberBytes = 8
/** 64 KiB. */
const keptNumbers = 8_192

export function createNumberList(): NumberList {
  const numbers = new Float64Array(firstNumbers)
  return { length: 0, numbers, bytes: Buffer.from(numbers.buffer) }
}

/** Makes room for this many more numbers. */
export function reserveNumbers(list: NumberList, count: number): void {
  const needed = list.length + count
  if (needed <= list.numbers.length) return
  const numbers = new Float64Array(Math.max(2 * list.numbers.length, needed))
  numbers.set(list.numbers)
  list.numbers = numbers
  list.bytes = Buffer.from(numbers.buffer)
}

export function pushNumber(list: NumberList, value: number): void {
  reserveNumbers(list, 1)
  list.numbers[list.length] = value
  list.length += 1
}

export function includesNumber({ numbers, length }: NumberList, value: number): boolean {
  for (let index = length - 1; index >= 0; index--) if (numbers[index] === value) return true
  return false
}

/** Removes the first numbers. Gives memory back that a burst of numbers took. */
export function dropNumbers(list: NumberList, count: number): void {
  list.numbers.copyWithin(0, count, list.length)
  list.length -= count
  if (list.numbers.length <= keptNumbers || list.length > list.numbers.length / 4) return
  list.numbers = list.numbers.slice(0, Math.max(list.length, firstNumbers))
  list.bytes = Buffer.from(list.numbers.buffer)
}

/** Makes `to` equal to `from`. */
export function copyNumbers(from: NumberList, to: NumberList): void {
  to.length = 0
  reserveNumbers(to, from.length)
  to.numbers.set(from.numbers.subarray(0, from.length))
  to.length = from.length
}

/** Writes the numbers of a list, or replaces them with those that are read. */
export function numbersIn(record: ByteRecord, list: NumberList): void {
  const length = countIn(record, list.length * numberBytes) / numberBytes
  const at = place(record, length * numberBytes)
  if (!record.isReading) {
    list.bytes.copy(record.memory, at, 0, record.at - at)
    return
  }
  list.length = 0
  reserveNumbers(list, length)
  list.length = length
  record.memory.copy(list.bytes, 0, at, record.at)
}
