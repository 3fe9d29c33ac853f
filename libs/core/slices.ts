/**
 * Long work in slices, so that it does not hold up the event loop. All work that checks `isSliceOver` shares one slice of
 * 5 ms per turn of the loop: the state below belongs to the loop, of which a thread has one.
 */
const sliceMs = 5

let sliceEndMs: number | undefined
const waiting: (() => void)[] = []

/** True when the long work of this turn has taken its time: then await `nextSlice` and go on. */
export function isSliceOver(): boolean {
  sliceEndMs ??= beginSlice()
  return performance.now() >= sliceEndMs
}

function beginSlice(): number {
  setImmediate(endTurn)
  return performance.now() + sliceMs
}

function endTurn(): void {
  sliceEndMs = undefined
}

/** Resolves in a later turn of the event loop, in order. As many go on in one turn as its slice has time for. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    setImmediate(resumeFirst)
  })
}

function resumeFirst(): void {
  if (isSliceOver()) setImmediate(resumeFirst)
  else waiting.shift()?.()
}

// Looking at the clock for every item would cost more than the items.
const itemsPerCheck = 16

/** Calls `work` for each item, in slices. */
export async function forEachInSlices<Item>(items: Iterable<Item>, work: (item: Item) => void): Promise<void> {
  let count = 0
  for (const item of items) {
    if (count % itemsPerCheck === 0 && isSliceOver()) await nextSlice()
    work(item)
    count++
  }
}

/** Calls `work` with up to `size` consecutive items at a time, in slices. */
export async function forEachPartInSlices<Item>(
  items: readonly Item[],
  size: number,
  work: (part: readonly Item[]) => void,
): Promise<void> {
  for (let start = 0; start < items.length; start += size) {
    if (isSliceOver()) await nextSlice()
    work(items.slice(start, start + size))
  }
}

/** `items.map(map)` in slices. */
export async function mapInSlices<Item, Result>(items: Iterable<Item>, map: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = []
  await forEachInSlices(items, (item) => results.push(map(item)))
  return results
}

/** `items.filter(accepts)` in slices. */
export async function filterInSlices<Item>(items: Iterable<Item>, accepts: (item: Item) => boolean): Promise<Item[]> {
  const accepted: Item[] = []
  await forEachInSlices(items, (item) => {
    if (accepts(item)) accepted.push(item)
  })
  return accepted
}
