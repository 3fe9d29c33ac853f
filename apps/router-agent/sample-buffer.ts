import { appendFile, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { newId } from '#core/ids'
import { sync } from '#files/durable-file'
import type { Sample } from './sample.ts'

/** The samples of one request. `batchId` does not change when the request is repeated. */
type Batch = { batchId: string; lines: string[] }

export type BufferFigures = { batches: number; samples: number; bytes: number; droppedSamples: number }

export type SampleBuffer = {
  add: (samples: Sample[]) => void
  /** Returns the oldest batch, or undefined when the buffer is empty. Returns the same batch until it is removed. */
  oldest: () => Promise<Batch | undefined>
  remove: (batchId: string) => Promise<void>
  /** Splits a batch that is too large for the server into two. Returns false when it has only one sample. */
  halve: (batch: Batch) => Promise<boolean>
  /** Writes all samples that are only in memory to disk: when the link is lost and before a stop. */
  persist: () => Promise<void>
  figures: () => BufferFigures
}

type Entry = {
  /** Text that sorts in the order of sending: 12 digits, and one more for each time the batch was halved. */
  order: string
  batchId: string
  count: number
  bytes: number
  /** Lines that are not on disk. */
  unwritten: string[]
  onDisk: boolean
  /** Was returned by `oldest`: no more lines may be added, because its id identifies exactly these lines. */
  closed: boolean
}

type BufferOptions = { maxBatchSamples?: number; maxBatchBytes?: number; maxBytes?: number }

/**
 * Buffers the samples that the service has not accepted, oldest first, in batches of at most 1,000 samples and 900 kB. While
 * the link is up, samples remain in memory, to avoid writes to the flash; `persist` appends them to one file per batch.
 * Beyond `maxBytes` the oldest batches are dropped and counted, because a full flash would stop the router.
 */
// Long because each part reads and changes the same batches and their bytes.
export async function openSampleBuffer(folder: string, options: BufferOptions = {}): Promise<SampleBuffer> {
  const { maxBatchSamples = 1_000, maxBatchBytes = 900_000, maxBytes = 64 * 1024 * 1024 } = options
  await mkdir(folder, { recursive: true })
  const entries = await readEntries(folder)
  let sequence = Number(entries.at(-1)?.order.slice(0, 12) ?? 0)
  let droppedSamples = 0

  const fileOf = (entry: Entry) => join(folder, `${entry.order}_${entry.batchId}.ndjson`)
  const indexOf = (batchId: string) => entries.findIndex((entry) => entry.batchId === batchId)

  function openEntry(lineBytes: number): Entry {
    const last = entries.at(-1)
    if (last && !last.closed && last.count < maxBatchSamples && last.bytes + lineBytes <= maxBatchBytes) return last
    const entry = newEntry(String(++sequence).padStart(12, '0'), [])
    entries.push(entry)
    return entry
  }

  async function write(entry: Entry): Promise<void> {
    const lines = entry.unwritten
    if (lines.length === 0) return
    await appendFile(fileOf(entry), `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
    const isNew = !entry.onDisk
    entry.onDisk = true
    entry.unwritten = entry.unwritten.slice(lines.length)
    if (isNew) await sync(folder)
  }

  async function discard(entry: Entry | undefined): Promise<void> {
    if (entry?.onDisk) await rm(fileOf(entry), { force: true })
  }

  async function dropBeyondLimit(): Promise<void> {
    let bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0)
    while (bytes > maxBytes && entries.length > 1) {
      const oldest = entries.shift()
      bytes -= oldest?.bytes ?? 0
      droppedSamples += oldest?.count ?? 0
      await discard(oldest)
    }
  }

  return {
    add(samples) {
      for (const sample of samples) {
        const line = JSON.stringify(sample)
        const bytes = Buffer.byteLength(line) + 1
        const entry = openEntry(bytes)
        entry.unwritten.push(line)
        entry.count += 1
        entry.bytes += bytes
      }
    },
    async oldest() {
      const entry = entries[0]
      if (!entry) return undefined
      entry.closed = true
      const written = entry.onDisk ? wholeLines(await readFile(fileOf(entry), 'utf8')) : []
      return { batchId: entry.batchId, lines: [...written, ...entry.unwritten] }
    },
    async remove(batchId) {
      const index = indexOf(batchId)
      if (index >= 0) await discard(entries.splice(index, 1)[0])
    },
    async halve({ batchId, lines }) {
      const index = indexOf(batchId)
      const entry = entries[index]
      if (!entry || lines.length < 2) return false
      const middle = Math.ceil(lines.length / 2)
      const halves = [
        newEntry(`${entry.order}0`, lines.slice(0, middle)),
        newEntry(`${entry.order}1`, lines.slice(middle)),
      ]
      for (const half of halves) half.closed = true
      // Writes both halves before it deletes the batch: a crash in between can duplicate samples, but not lose them.
      if (entry.onDisk) for (const half of halves) await write(half)
      entries.splice(index, 1, ...halves)
      await discard(entry)
      return true
    },
    async persist() {
      await dropBeyondLimit()
      for (const entry of [...entries]) await write(entry)
    },
    figures: () => ({
      batches: entries.length,
      samples: entries.reduce((sum, entry) => sum + entry.count, 0),
      bytes: entries.reduce((sum, entry) => sum + entry.bytes, 0),
      droppedSamples,
    }),
  }
}

function newEntry(order: string, lines: string[]): Entry {
  const bytes = lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
  return { order, batchId: newId(), count: lines.length, bytes, unwritten: lines, onDisk: false, closed: false }
}

/** The complete lines. A power failure during a write leaves an incomplete last line. */
const wholeLines = (text: string): string[] => text.split('\n').slice(0, -1)

async function readEntries(folder: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for (const name of (await readdir(folder)).sort()) {
    const [, order, batchId] = /^(\d{12,})_([0-9a-f-]{36})\.ndjson$/.exec(name) ?? []
    if (!order || !batchId) continue
    const text = await readFile(join(folder, name), 'utf8')
    const count = wholeLines(text).length
    entries.push({ order, batchId, count, bytes: Buffer.byteLength(text), unwritten: [], onDisk: true, closed: true })
  }
  return entries
}
