import { folded } from '#client/folded'

/** Something that the search can open. `hint`: what tells it from others with the same label. */
export type SearchEntry = { kind: string; label: string; hint?: string; href: string }

const mostOfEach = 6

/** The entries in which each word of the query begins a word, those whose label begins with the query first; at most six a kind. */
export function matchingEntries(entries: readonly SearchEntry[], query: string): SearchEntry[] {
  const words = folded(query).split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found = entries.flatMap((entry) => {
    const text = folded(`${entry.label} ${entry.hint ?? ''} ${entry.kind}`)
    if (!words.every((word) => beginsAWord(text, word))) return []
    return [{ entry, rank: folded(entry.label).startsWith(words.join(' ')) ? 0 : 1 }]
  })
  const counts = new Map<string, number>()
  return found
    .sort((a, b) => a.rank - b.rank)
    .flatMap(({ entry }) => {
      const before = counts.get(entry.kind) ?? 0
      counts.set(entry.kind, before + 1)
      return before < mostOfEach ? [entry] : []
    })
}

const beginsAWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1))
    if (at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1] ?? '')) return true
  return false
}
