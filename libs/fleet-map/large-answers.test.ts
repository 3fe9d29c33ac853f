import { expect, test } from 'vitest'
import { createLargeAnswers } from '#fleet-map/large-answers'

test('a response of a moment is rendered again after a second, and one of a list is kept compressed while it is read', async () => {
  let nowMs = 1_000
  const answers = createLargeAnswers(() => nowMs)
  let rendered = 0
  const read = (of: 'moment' | 'list') =>
    answers.read(of, `key of a ${of}`, 'owner', 'gzip', async function* () {
      rendered += 1
      yield new TextEncoder().encode('cells')
    })
  const [moment, list] = [await read('moment'), await read('list')]
  expect(rendered).toBe(2)
  for (let second = 0; second < 25; second++) {
    nowMs += 1_000
    expect(await read('list')).toBe(list)
  }
  expect(rendered).toBe(2)
  expect(await read('moment')).not.toBe(moment)
  expect(rendered).toBe(3)
})
