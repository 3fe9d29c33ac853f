import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createSharedAnswers } from '#fleet-map/shared-answers'
import { type Chunks, lengthOf } from '#http/chunked-body'

const bytesOf = (text: string): Chunks => [new TextEncoder().encode(text)]
const textOf = (chunks: Chunks): string => Buffer.concat(chunks).toString()

test('responses are cached within a limit of bytes, in every coding in which they were sent', async () => {
  const maxBytes = 1_000_000
  const answers = createSharedAnswers(() => 1_000, { maxBytes, lifeMs: 1_000 })
  const text = 'x'.repeat(50_000)
  for (let question = 0; question < 100; question++) {
    const read = (coding?: 'gzip') => answers.read(`question ${question}`, coding, async () => bytesOf(text))
    expect(lengthOf(await read())).toBe(50_000)
    expect(lengthOf(await read('gzip'))).toBeLessThan(1_000)
    expect(answers.keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(answers.keptBytes()).toBeGreaterThan(maxBytes / 2)
})

test('a response is rendered once for all requests within a second, and again after it, in all codings', async () => {
  let nowMs = 1_000
  const answers = createSharedAnswers(() => nowMs, { maxBytes: 1_000_000, lifeMs: 1_000 })
  let rendered = 0
  const read = (coding?: 'gzip') => answers.read('question', coding, async () => bytesOf(`answer ${++rendered}`))
  expect((await Promise.all([read(), read()])).map(textOf)).toEqual(['answer 1', 'answer 1'])
  nowMs += 900
  expect(textOf(await read())).toBe('answer 1')
  const zipped = await read('gzip')
  expect(await read('gzip')).toBe(zipped)
  expect(gunzipSync(Buffer.concat(zipped)).toString()).toBe('answer 1')
  nowMs += 101
  expect(gunzipSync(Buffer.concat(await read('gzip'))).toString()).toBe('answer 2')
  expect(textOf(await read())).toBe('answer 2')
})
