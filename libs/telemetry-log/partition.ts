const seed = 0x9747b28c
const multiplier = 0x5bd1e995

/**
 * Returns the partition of a device, from 0 to `partitions` - 1. Kafka's default partitioner returns the same for a record
 * with the device id as its key.
 */
export const partitionOf = (deviceId: string, partitions: number): number =>
  partitions === 1 ? 0 : (murmur2(Buffer.from(deviceId)) & 0x7fff_ffff) % partitions

/** Returns the MurmurHash2 of `bytes` as a signed 32-bit integer, with the seed of Kafka's `Utils.murmur2`. */
export function murmur2(bytes: Buffer): number {
  const tailStart = bytes.length & ~3
  let hash = seed ^ bytes.length
  for (let at = 0; at < tailStart; at += 4) {
    let word = Math.imul(bytes.readInt32LE(at), multiplier)
    word = Math.imul(word ^ (word >>> 24), multiplier)
    hash = Math.imul(hash, multiplier) ^ word
  }
  if (tailStart < bytes.length) {
    for (let at = tailStart; at < bytes.length; at++) hash ^= bytes.readUInt8(at) << (8 * (at - tailStart))
    hash = Math.imul(hash, multiplier)
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier)
  return hash ^ (hash >>> 15)
}
