/** One checked invariant and whether it held. */
/** `isMeasured`: compares a time or an amount of memory with a limit, so it depends on the machine. */
export type Finding = { what: string; held: boolean; detail: string; isMeasured?: true }

/** A real failure that the product must survive. */
export type Fault = {
  name: string
  /** Causes the failure and returns the findings. `quick` runs fewer rounds. Throws SkipFault if the machine cannot do it. */
  run(options: { quick: boolean }): Promise<Finding[]>
}

/** The machine does not meet a requirement of the fault; the message says which. */
export class SkipFault extends Error {}
