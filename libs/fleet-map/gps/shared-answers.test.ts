import { expect, test } from 'vitest'
import { createSharedAnswers } from '#fleet-map/gps/shared-answers'
import { type Chunks, lengthOf } from '#http/chunked-body'

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

const textOf = (chunks: Chunks): string => Buffer.concat(chunks).toString()

test('responses are cached within a limit of bytes, in every coding in which they were sent', async () => {
  const maxBytes = 1_000_000
  const answers = createSharedAnswers(() => 1_000, maxBytes)
  const text = 'x'.repeat(50_000)
  for (let question = 0; question < 100; question++) {
    const answer = answers.share(`question ${question}`, 'owner', () => bytesOf(text))
    expect(lengthOf(await answer(undefined))).toBe(50_000)
    await answer('gzip')
    expect(answers.keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(answers.keptBytes()).toBeGreaterThan(maxBytes / 2)
})

test('a response is rendered once for all requests within a second, and again after it', async () => {
  let nowMs = 1_000
  const answers = createSharedAnswers(() => nowMs)
  let rendered = 0
  const ask = () => answers.share('question', 'owner', () => bytesOf(`answer ${++rendered}`))(undefined)
  expect(textOf(await ask())).toBe('answer 1')
  nowMs += 900
  expect(textOf(await ask())).toBe('answer 1')
  nowMs += 101
  expect(textOf(await ask())).toBe('answer 2')
})
