/** What the load process sends: this number of reports per second, however long the responses take. */
export type SteadyLoadOrder = {
  port: number
  tokens: string[]
  reportsPerSecond: number
  /** `spread`: as `minute`, with positions all over Europe. */
  shape: 'drive' | 'minute' | 'spread'
}

export const samplesPerReport = 100
/** One RF sample and one fix per second: the time that a report of 100 samples covers. */
export const secondsPerReport = 50
