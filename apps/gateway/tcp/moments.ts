import { createObjectBoundaries } from '#adapters/gpsd/moments'
import { factsOf } from '#adapters/nmea/fields'
import { createMomentBoundaries } from '#adapters/nmea/moments'
import { parseSentence } from '#adapters/nmea/sentence'
import type { PositionProtocol } from './line-kind.ts'

/** Returns whether a line begins another moment of its device. Called with each line in order. */
type Boundaries = (line: string) => boolean

/** Creates the boundaries of a protocol. A line of Cradlepoint is a moment of its own. */
export function createBoundaries(protocol: PositionProtocol): Boundaries {
  switch (protocol) {
    case 'cradlepoint':
      return () => true
    case 'gpsd':
      return createObjectBoundaries()
    case 'nmea': {
      const begins = createMomentBoundaries()
      return (line) => {
        const sentence = parseSentence(line)
        if (sentence === 'proprietary' || 'reason' in sentence) return false
        const facts = factsOf(sentence)
        return facts !== undefined && begins({ type: sentence.type, ...facts })
      }
    }
  }
}
