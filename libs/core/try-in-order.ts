/** Returns the result for the first copy that does not fail. Throws the error of the last one. */
export async function tryInOrder<Copy, Result>(
  copies: readonly Copy[],
  read: (copy: Copy) => Promise<Result>,
): Promise<Result> {
  let failure: unknown = new Error('There is no copy to read.')
  for (const copy of copies) {
    try {
      return await read(copy)
    } catch (error) {
      failure = error
    }
  }
  throw failure
}
