import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openSteps } from './steps.ts'

async function newFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'steps-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return join(folder, 'examples.json')
}

test('a step is done once, also after a restart, and its result stays', async () => {
  const file = await newFile()
  let done = 0
  const work = async () => ({ id: `place-${++done}` })
  expect(await (await openSteps(file)).once('places', work)).toEqual({ id: 'place-1' })
  const again = await openSteps(file)
  expect(await again.once('places', work)).toEqual({ id: 'place-1' })
  expect(await again.once('rules', work)).toEqual({ id: 'place-2' })
})

test('a step that failed is done again, and one without a result is not', async () => {
  const file = await newFile()
  const steps = await openSteps(file)
  await expect(steps.once('rollout', () => Promise.reject(new Error('503')))).rejects.toThrow('503')
  expect(await steps.once('rollout', async () => 'batch-1')).toBe('batch-1')
  await steps.once('version', async () => undefined)
  let repeated = false
  await (await openSteps(file)).once('version', async () => {
    repeated = true
  })
  expect(repeated).toBe(false)
})
