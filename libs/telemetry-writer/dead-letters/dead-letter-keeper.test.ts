import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { deadLetterFolder } from '#telemetry-log/dead-letters/dead-letters'
import { mountSmallDisk, NoSmallDiskError } from '#test/small-disk'
import { until } from '#test/until'
import { createDeadLetterKeeper } from './dead-letter-keeper.ts'

it('keeps a dead letter once a full disk has room again', async (context) => {
  const folder = join(tmpdir(), `routerfleet-letters-${process.pid}`)
  let unmount: () => void
  try {
    unmount = mountSmallDisk(folder, 1)
  } catch (error) {
    if (error instanceof NoSmallDiskError) return context.skip(error.message)
    throw error
  }
  try {
    const filler = join(folder, 'filler')
    let retries = 0
    const onRetry = () => {
      retries += 1
    }
    const keeper = createDeadLetterKeeper({
      place: { logFolder: folder, partition: 0 },
      onRetry,
      signal: new AbortController().signal,
    })
    const letter = { at: '2026-01-01T00:00:00.000Z', reason: 'test', table: 'system', key: 'k', row: 'a'.repeat(8192) }
    await keeper.keep([letter])
    expect(() => writeFileSync(filler, Buffer.alloc(2 * 1024 ** 2))).toThrow('ENOSPC')
    const kept = keeper.keep([letter])
    await until('the keeper waits for room', async () => retries > 0)
    rmSync(filler)
    await kept
    const [file = ''] = readdirSync(deadLetterFolder(folder))
    const lines = readFileSync(join(deadLetterFolder(folder), file), 'utf8')
      .trim()
      .split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual([letter, letter])
  } finally {
    unmount()
  }
})
