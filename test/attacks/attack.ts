import type { Finding } from '../faults/fault.ts'
import type { Target, TargetOptions } from './target.ts'

/** What a bystander's requests are timed at. */
export type ProbeName = 'controlPlaneLivez' | 'ingestLivez' | 'deviceList' | 'reportQueryable'

export type AttackOptions = {
  /** Attack smaller, for CI. */
  quick: boolean
  /** Aborts when the run is interrupted or the attack takes too long; the attack then ends at once. */
  signal: AbortSignal
}

export type AttackReport = {
  /** How often the attacker got each answer: "202", "413 body_too_large", "connection closed". */
  answers: Readonly<Record<string, number>>
  /** Samples that ingest acknowledged with 202; undefined when the attack sends no telemetry. */
  acceptedSamples?: number
  /** Invariants that only this attack checks. */
  findings?: readonly Finding[]
}

/** A hostile client. The harness times a bystander, measures memory and counts connections while it runs. */
export type Attack = {
  name: string
  /** One line: what is sent, and what would break. */
  about: string
  /** Gives the attack a target of its own, opened with these options. */
  target?: TargetOptions
  /** How long the attack takes by design, when that is longer than others take. */
  durationMs?: number
  /** Probes that are not judged, because the attack takes away what they need. */
  exempt?: readonly ProbeName[]
  /** Prepares the target, before the calm that the attack is compared with. */
  prepare?(target: Target): Promise<unknown>
  /** Runs the attack to its end and returns what the attacker saw. Throws SkipFault when the machine cannot run it. */
  run(target: Target, options: AttackOptions): Promise<AttackReport>
}
