import { expect, test } from 'vitest'
import { until } from '#test/until'
import type { KafkaFetcher } from './kafka-fetcher.ts'
import { openKafkaReader } from './kafka-reader.ts'
import { encodeRecord } from './kafka-record.ts'

const { value, headers } = encodeRecord({
  deviceId: '01890000-0000-7000-8000-0000000000aa',
  organizationId: '01890000-0000-7000-8000-0000000000bb',
  ...{ deviceClass: 'ship', receivedAtMs: 1, oldestTsMs: 0, format: 'json', sampleCount: 1 },
  body: Buffer.from('{}'),
})

/** A partition that ends at 9 and has no records at these positions. */
function partitionWithout(gaps: readonly number[]): KafkaFetcher {
  const end = 9
  const positions = Array.from({ length: end }, (_, position) => position).filter(
    (position) => !gaps.includes(position),
  )
  return {
    async fetch(from) {
      if (from >= end) return new Promise(() => {})
      const records = positions
        .filter((position) => position >= from)
        .map((position) => ({ position, value, headers: [...headers] }))
      return { records, nextPosition: end, highWatermark: end }
    },
    beginning: async () => 0,
    end: async () => end,
    close: async () => {},
  }
}

test('a reader shares the records that it has fetched and not read, up to the first gap', async () => {
  const reader = openKafkaReader(partitionWithout([5]), { from: 0 })
  const shared = (from: number) => {
    const found = reader.buffered(from)
    return found && [found.records.map(({ position }) => position), found.nextPosition]
  }
  expect(shared(0)).toBeUndefined()
  reader.read(2, 1_000)
  await until('the records are fetched', async () => reader.bufferedPosition() === 9)
  reader.read(2, 1_000)
  expect(shared(1)).toBeUndefined()
  expect(shared(2)).toEqual([[2, 3, 4], 5])
  // Only a broker can tell why there is no record.
  expect(shared(5)).toBeUndefined()
  expect(shared(6)).toEqual([[6, 7, 8], 9])
  expect(shared(9)).toBeUndefined()
  reader.close()
  expect(shared(6)).toBeUndefined()
})

test('a reader counts the accepted samples of what it has fetched from a position on', async () => {
  const reader = openKafkaReader(partitionWithout([5]), { from: 0, counted: { position: 2, samples: 40 } })
  expect(reader.counted()).toEqual({ position: 2, samples: 40 })
  reader.read(1, 1_000)
  await until('the records are fetched', async () => reader.bufferedPosition() === 9)
  // Positions 2 to 8, of which the broker lacks one.
  expect(reader.counted()).toEqual({ position: 9, samples: 46 })
  const counts = reader.read(9, 100_000).map(({ position, firstSample }) => [position, firstSample])
  expect(counts.slice(0, 3)).toEqual([
    [0, 40],
    [1, 40],
    [2, 40],
  ])
  expect(counts.at(-1)).toEqual([8, 45])
  reader.close()
})
