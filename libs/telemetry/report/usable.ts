const maxAccuracyM = 100
const metresPerHdop = 5
const assumedAccuracyM = 10

type Position = {
  lat: number | null
  lon: number | null
  accuracyM: number | null
  hdop?: number | null
  fix?: string | null
}

/** Accuracy of a fix in metres: as reported, else five metres per HDOP, else ten. */
export function fixAccuracyM({ accuracyM, hdop }: Pick<Position, 'accuracyM' | 'hdop'>): number {
  if (accuracyM !== null) return accuracyM
  return hdop === null || hdop === undefined ? assumedAccuracyM : hdop * metresPerHdop
}

/** Whether a position may move a marker, a dwell or a coverage cell. Receivers without a position report (0, 0). */
export function isUsableFix(position: Position): boolean {
  const { lat, lon, fix } = position
  if (lat === null || lon === null || fix === 'none') return false
  if (lat === 0 && lon === 0) return false
  return fixAccuracyM(position) <= maxAccuracyM
}
