import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Sample } from './sample.ts'
import { openSampleBuffer, type SampleBuffer } from './sample-buffer.ts'

const sampleAt = (ts: number): Sample => ({ ts, kind: 'system', fault: 'x'.repeat(ts % 50) })

const inFolder = async <T>(work: (folder: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), 'sample-buffer-'))
  return work(folder).finally(() => rm(folder, { recursive: true }))
}

async function drain(buffer: SampleBuffer): Promise<{ batchId: string; times: number[] }[]> {
  const batches = []
  for (let batch = await buffer.oldest(); batch; batch = await buffer.oldest()) {
    batches.push({ batchId: batch.batchId, times: batch.lines.map((line) => JSON.parse(line).ts as number) })
    await buffer.remove(batch.batchId)
  }
  return batches
}

type Step = { act: 'add'; count: number } | { act: 'persist' | 'reopen' | 'send' | 'fail' | 'halve' }

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ act: fc.constant('add' as const), count: fc.integer({ min: 1, max: 25 }) }) },
    fc.record({
      act: fc.constantFrom('persist' as const, 'reopen' as const, 'send' as const, 'fail' as const, 'halve' as const),
    }),
  ),
  { maxLength: 30 },
)

test('under any sequence of operations, samples leave in order, once each, within the batch limit', async () => {
  await fc.assert(
    fc.asyncProperty(steps, (history: Step[]) =>
      inFolder(async (folder) => {
        const limits = { maxBatchSamples: 10, maxBatchBytes: 600 }
        let buffer = await openSampleBuffer(folder, limits)
        let taken = 0
        const sent: number[] = []
        const send = async () => {
          const batch = await buffer.oldest()
          if (!batch) return
          expect(batch.lines.length).toBeLessThanOrEqual(10)
          expect(Buffer.byteLength(batch.lines.join('\n'))).toBeLessThanOrEqual(600)
          sent.push(...batch.lines.map((line) => JSON.parse(line).ts as number))
          await buffer.remove(batch.batchId)
        }
        for (const step of history) {
          if (step.act === 'add') buffer.add(Array.from({ length: step.count }, () => sampleAt(taken++)))
          if (step.act === 'persist') await buffer.persist()
          if (step.act === 'send') await send()
          if (step.act === 'fail') await buffer.oldest()
          if (step.act === 'reopen') {
            await buffer.persist()
            buffer = await openSampleBuffer(folder, limits)
          }
          if (step.act === 'halve') {
            const batch = await buffer.oldest()
            if (batch) expect(await buffer.halve(batch)).toBe(batch.lines.length > 1)
          }
          expect(buffer.figures().samples).toBe(taken - sent.length)
        }
        while (buffer.figures().samples > 0) await send()
        expect(sent).toEqual(Array.from({ length: taken }, (_, index) => index))
        await buffer.persist()
        expect(await readdir(folder)).toEqual([])
      }),
    ),
    { numRuns: 60 },
  )
})

test('a batch keeps its id after it was first sent, also after a restart', () =>
  inFolder(async (folder) => {
    const buffer = await openSampleBuffer(folder)
    buffer.add([sampleAt(1)])
    const first = await buffer.oldest()
    buffer.add([sampleAt(2)])
    await buffer.persist()
    const batches = await drain(await openSampleBuffer(folder))
    expect(batches.map(({ times }) => times)).toEqual([[1], [2]])
    expect(batches[0]?.batchId).toBe(first?.batchId)
  }))

test('an incomplete last line is skipped, the complete lines remain', () =>
  inFolder(async (folder) => {
    const buffer = await openSampleBuffer(folder)
    buffer.add([sampleAt(1), sampleAt(2)])
    await buffer.persist()
    const [file = ''] = await readdir(folder)
    await appendFile(join(folder, file), '{"ts":3,"ki')
    const reopened = await openSampleBuffer(folder)
    expect(reopened.figures().samples).toBe(2)
    expect((await drain(reopened)).map(({ times }) => times)).toEqual([[1, 2]])
  }))

test('beyond the size limit, the oldest batches are dropped and counted', () =>
  inFolder(async (folder) => {
    const buffer = await openSampleBuffer(folder, { maxBatchSamples: 10, maxBytes: 2_000 })
    buffer.add(Array.from({ length: 100 }, (_, index) => sampleAt(index)))
    await buffer.persist()
    const { samples, bytes, droppedSamples } = buffer.figures()
    expect(bytes).toBeLessThanOrEqual(2_000)
    expect(samples + droppedSamples).toBe(100)
    expect((await drain(buffer))[0]?.times[0]).toBe(droppedSamples)
  }))
