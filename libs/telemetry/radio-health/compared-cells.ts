import { medianOf } from './median.ts'

/** `votes` measurements of the same level by a radio, in this hour since 1970, in one shared cell. */
type CellLevel = { deviceId: string; modem: string | null; hour: number; rsrpDbm: number; votes: number }

/** A radio in a shared cell beside the other devices there: its level and the median of theirs, in dBm. */
type ComparedCell = { modem: string | null; rsrpDbm: number; neighboursDbm: number; comparedDevices: number }

const minOthers = 2

/** The median over hours of the medians of each hour. */
function levelOf(levels: readonly CellLevel[]): number {
  const hours = Map.groupBy(levels, ({ hour }) => hour)
  const medians = [...hours.values()].map((ofHour) =>
    medianOf(ofHour.flatMap(({ rsrpDbm, votes }) => Array<number>(votes).fill(rsrpDbm))),
  )
  return medianOf(medians)
}

/**
 * Compares the radios of a device with the other devices in one shared cell, each with one voice. Empty with fewer than two others
 * that measured there.
 */
export function compareInCell(levels: readonly CellLevel[], deviceId: string): ComparedCell[] {
  const { own = [], others = [] } = Object.groupBy(levels, (level) => (level.deviceId === deviceId ? 'own' : 'others'))
  const radiosOf = (some: readonly CellLevel[]) => [...Map.groupBy(some, ({ modem }) => modem)]
  const voices = [...Map.groupBy(others, (level) => level.deviceId).values()].map((ofDevice) =>
    medianOf(radiosOf(ofDevice).map(([, ofRadio]) => levelOf(ofRadio))),
  )
  if (voices.length < minOthers) return []
  const reference = { neighboursDbm: medianOf(voices), comparedDevices: voices.length }
  return radiosOf(own).map(([modem, ofRadio]) => ({ modem, rsrpDbm: levelOf(ofRadio), ...reference }))
}
