/** Returns milliseconds since the epoch. Passed as a value, so that tests can set the time. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
