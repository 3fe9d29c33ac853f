/** All items of a list. */
export async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const read: Item[] = []
  for await (const item of items) read.push(item)
  return read
}
