import { expect, test } from 'vitest'
import { bisect, bisectOwners, sumOfEach } from './bisect.ts'

const failure = (code: string) => Object.assign(new Error(code), { code })

test('a statement that runs for too long is tried with fewer items, and nothing is given up', async () => {
  const done: number[] = []
  const failed: number[] = []
  const work = async (items: readonly number[]) => {
    if (items.length > 2 || items.includes(4)) throw failure('57014')
    done.push(...items)
  }
  await expect(bisect([1, 2, 3, 4], work, (item) => failed.push(item))).rejects.toThrow('57014')
  expect({ done, failed }).toEqual({ done: [1, 2, 3], failed: [] })
})

test('items whose lock is not released are not given up', async () => {
  const failed: number[] = []
  const work = () => Promise.reject(failure('55P03'))
  await expect(bisect([1, 2], work, (item) => failed.push(item))).rejects.toThrow('55P03')
  expect(failed).toEqual([])
})

test.each(['40P01', '55P03', '57014'])('the items of other owners are processed after %s of one', async (code) => {
  const done: string[] = []
  const failed: string[] = []
  const work = async (items: readonly string[]) => {
    if (items.includes('locked 1')) throw failure(code)
    done.push(...items)
  }
  const items = ['a 1', 'locked 1', 'b 1', 'a 2']
  await bisectOwners(
    items,
    (item) => item.slice(0, -2),
    work,
    (owner) => failed.push(owner),
  )
  expect({ done: done.sort(), failed }).toEqual({ done: ['a 1', 'a 2', 'b 1'], failed: ['locked'] })
})

test.each(['40P01', '55P03', '57014'])('the next item has its turn after %s of one', async (code) => {
  const errors: unknown[] = []
  const work = async (item: number) => (item === 1 ? Promise.reject(failure(code)) : item)
  expect(await sumOfEach([1, 2, 3], work, (error) => errors.push(error))).toBe(5)
  expect(errors).toMatchObject([{ code }])
})

test('no further item is tried while the database is unavailable', async () => {
  const tried: number[] = []
  const work = async (item: number) => {
    tried.push(item)
    throw failure('ECONNREFUSED')
  }
  await expect(sumOfEach([1, 2], work, () => {})).rejects.toThrow('ECONNREFUSED')
  expect(tried).toEqual([1])
})
