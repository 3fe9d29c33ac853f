import { type DeviceIdentity, normalizeIdentity } from '#device-edge/gateway'

/** What a topic cannot hold: its separator, wildcards and control characters; and the character that begins an encoding. */
const encodedInLevel = /[%/+#\p{Cc}]/gu

/**
 * Returns the device that a level of a topic names; undefined if it names none. A serial has one spelling: only characters that
 * a topic cannot hold are percent-encoded. The rules of a broker compare topics as text, so with a second spelling
 * (`SN%2D1`, ` SN-1`) one device could speak for another.
 */
export function deviceOfLevel(kind: DeviceIdentity['kind'], level: string): DeviceIdentity | undefined {
  const text = decoded(level)
  if (text === undefined || text !== text.trim()) return undefined
  if (text.replaceAll(encodedInLevel, encodeURIComponent) !== level) return undefined
  return normalizeIdentity(kind, text)
}

function decoded(level: string): string | undefined {
  try {
    return decodeURIComponent(level)
  } catch {
    return undefined
  }
}
