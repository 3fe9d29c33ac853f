import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'

const node = fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url))
const appender = fileURLToPath(new URL('../../../test/support/append-until-killed.ts', import.meta.url))

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'telemetry-log-crash-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Runs the appender until it has acknowledged `enough` batches, kills it, and returns all it acknowledged. */
async function appendAndKill(first: number, enough: number): Promise<number[]> {
  const child = spawn(node, [appender, folder, String(first)], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.split('\n').length > enough) child.kill('SIGKILL')
  })
  await once(child, 'close')
  // The last line may be cut; what it says was durable before it was written.
  return output.slice(0, output.lastIndexOf('\n')).split('\n').map(Number)
}

test('every acknowledged batch is read back once after repeated kill -9', async () => {
  const acknowledged: number[] = []
  for (let life = 0; life < 8; life++) acknowledged.push(...(await appendAndKill(life * 1_000_000, 50 + life * 60)))

  const log = await openSegmentLog({ folder })
  const { position, samples } = log.tail()
  const found: number[] = []
  const reader = openSegmentReader({ folder, from: 0, onDamage: () => expect.fail('A kill damages nothing.') })
  for (let chunk = reader.read(position, 1); chunk.length > 0; chunk = reader.read(position, 1)) {
    for (const { body, firstSample } of chunk) {
      expect(firstSample).toBe(found.length)
      found.push(Number(body.toString().split(':')[0]))
    }
  }
  expect(found.length).toBe(samples)
  expect(new Set(found).size).toBe(found.length)
  expect(acknowledged.length).toBeGreaterThan(8 * 50)
  const kept = new Set(found)
  expect(acknowledged.filter((number) => !kept.has(number))).toEqual([])
  reader.close()
  await log.close()
}, 120_000)
