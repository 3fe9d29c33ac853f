/** Milliseconds since the epoch. Passed as a value so that tests decide what time it is. */
export type Clock = () => number

export const systemClock: Clock = () => Date.now()
