/** Words that many devices have in common, each kept in memory once. */
export type SharedWords = {
  /** Returns the same word, as the string that is already in memory. */
  word<Word extends string | null>(word: Word): Word
  /** Returns a list with these words, the one that is already in memory. */
  list(words: readonly string[]): readonly string[]
}

/** Devices choose some words, so their number is limited: beyond it, the table is emptied and filled again. */
const maxWords = 20_000
/** Longer words are rarely the same. */
const maxWordLength = 100
const separator = '\n'

export function createSharedWords(): SharedWords {
  const words = new Map<string, string>()
  const lists = new Map<string, readonly string[]>()

  const word = <Word extends string | null>(of: Word): Word => {
    if (of === null || of.length > maxWordLength) return of
    const known = words.get(of)
    if (known !== undefined) return known as Word
    if (words.size >= maxWords) words.clear()
    words.set(of, of)
    return of
  }
  return {
    word,
    list(of) {
      const key = of.join(separator)
      const known = lists.get(key)
      // Words can contain the separator.
      if (known?.length === of.length && known.every((each, index) => each === of[index])) return known
      if (lists.size >= maxWords) lists.clear()
      const list = of.map(word)
      lists.set(key, list)
      return list
    },
  }
}
