/** One invariant that was looked at, and whether it held. */
export type Finding = { what: string; held: boolean; detail: string }

/** A failure the product must survive, brought about for real. */
export type Fault = {
  name: string
  /** Does the damage and says what it found. `quick` does less of it. Throws SkipFault when the machine cannot do it. */
  run(options: { quick: boolean }): Promise<Finding[]>
}

/** The machine lacks what the fault needs; the message says what. */
export class SkipFault extends Error {}
