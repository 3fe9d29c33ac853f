import { isRecord } from '../json.ts'

/**
 * Returns a function that is called with each line of gpsd, and returns the time of its object and whether it begins another moment. TPV and SKY of
 * one time are one moment, in any order. An object without a time belongs to the moment before it, unless that has its class
 * already.
 */
export function createObjectBoundaries(): (line: string) => { begins: boolean; time?: string | undefined } {
  let time: unknown
  let classes = new Set<unknown>()
  return (line) => {
    const object = positionObject(line)
    if (object === undefined) return { begins: false }
    const { class: type, time: sent } = object
    const isLater = sent !== undefined && time !== undefined && sent !== time
    const begins = isLater || ((sent === undefined || time === undefined) && classes.has(type))
    if (begins) {
      classes = new Set()
      time = undefined
    }
    time ??= sent
    classes.add(type)
    return { begins, time: typeof sent === 'string' ? sent : undefined }
  }
}

/** Returns the TPV or SKY of a line; undefined for any other line. */
export function positionObject(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isRecord(value) && (value.class === 'TPV' || value.class === 'SKY') ? value : undefined
  } catch {
    return undefined
  }
}
