import { expect, test } from 'vitest'
import { newId } from '#core/ids'
import { murmur2, partitionOf } from '#telemetry-log/partition'

// The vectors of Kafka's own test, org.apache.kafka.common.utils.UtilsTest.testMurmur2.
test.each([
  ['21', -973932308],
  ['foobar', -790332482],
  ['a-little-bit-long-string', -985981536],
  ['a-little-bit-longer-string', -1486304829],
  ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ['abc', 479470107],
  ['string-f-24-chars-length', 124730809],
  ['string-fo-25-chars-length', 1269511650],
  ['string-foo-26-chars-length', 119165628],
  ['string-last-27-chars-length', 1089971754],
])('murmur2 of %s is the hash that Kafka computes', (text, hash) => {
  expect(murmur2(Buffer.from(text))).toBe(hash)
})

test('a negative hash has a partition, as in Kafka, and one partition takes all', () => {
  expect(partitionOf('21', 12)).toBe((-973932308 & 0x7fffffff) % 12)
  expect(partitionOf('abc', 12)).toBe(479470107 % 12)
  expect(partitionOf('foobar', 1)).toBe(0)
})

test('devices are spread evenly over the partitions', () => {
  const counts = [0, 0, 0, 0]
  for (let device = 0; device < 10_000; device++) {
    const partition = partitionOf(newId(), counts.length)
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  for (const count of counts) expect(Math.abs(count - 2_500)).toBeLessThan(300)
})
