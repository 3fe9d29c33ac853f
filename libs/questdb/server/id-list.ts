import { placeholders } from './sql.ts'

/** Sizes of the lists. QuestDB compiles a statement for each size and keeps it in its heap, so there are few sizes. */
const sizes = [1, 8, 64, 256, 512]

/** The most ids in one statement. */
export const maxIds = 512

function sizeFor(ids: readonly string[]): number {
  const size = sizes.find((atMost) => ids.length <= atMost)
  if (size === undefined) throw new RangeError(`A statement takes at most ${maxIds} ids, not ${ids.length}.`)
  return size
}

/** No device has this id. Repeating an id instead would make QuestDB read its rows again. */
const filler = ''

/**
 * Returns the placeholders `$first, …` and the values of a list of ids, filled up to one of a few sizes. Throws a RangeError
 * for more than `maxIds`.
 */
export function idList(ids: readonly string[], first: number): { list: string; ids: string[] } {
  const size = sizeFor(ids)
  const fillers = Array.from({ length: size - ids.length }, () => filler)
  return { list: placeholders(size, first), ids: [...ids, ...fillers] }
}

const idLength = 36

/**
 * The same as a sub-query on the parameter `$first`, with its value, for statements with LATEST ON. QuestDB shares a compiled
 * statement among connections, and with LATEST ON and a list of parameters, it then reads the rows of ids that another
 * connection asked for (seen with 9.3.4).
 */
export function idQuery(ids: readonly string[], first: number): { query: string; value: string } {
  const size = sizeFor(ids)
  const id = `substring($${first}, ((x - 1) * ${idLength} + 1)::int, ${idLength})`
  return { query: `SELECT ${id} FROM long_sequence(${size})`, value: ids.join('') }
}
