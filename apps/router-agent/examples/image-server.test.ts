import { createHash } from 'node:crypto'
import { request } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { startImageServer } from './image-server.ts'
import { exampleImages, withdrawnImage } from './images.ts'

test('routers download each image by its public address; a withdrawn one is not found', async () => {
  const { dispatcher, close } = await startImageServer(exampleImages)
  onTestFinished(close)
  for (const { url, sha256 } of exampleImages) {
    const { statusCode, body } = await request(url, { dispatcher })
    expect(statusCode).toBe(200)
    const bytes = Buffer.from(await body.arrayBuffer())
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(sha256)
  }
  const { statusCode, body } = await request(withdrawnImage.url, { dispatcher })
  await body.dump()
  expect(statusCode).toBe(404)
})
