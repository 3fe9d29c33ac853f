import type { Finding } from '../faults/fault.ts'
import type { Target, TargetOptions } from './target.ts'

/** The requests of the bystander whose response times are measured. */
export type ProbeName =
  | 'controlPlaneLivez'
  | 'ingestLivez'
  | 'deviceList'
  | 'deviceRead'
  | 'nextJob'
  | 'reportQueryable'

export type AttackOptions = {
  /** Runs a smaller attack for CI. */
  quick: boolean
  /** Aborts when the run is interrupted or the attack takes too long. The attack must then end immediately. */
  signal: AbortSignal
}

export type AttackReport = {
  /** Counts of the attacker's responses: "202", "413 body_too_large", "connection closed". */
  answers: Readonly<Record<string, number>>
  /** Samples that ingest acknowledged with 202; undefined when the attack sends no telemetry. */
  acceptedSamples?: number
  /** Invariants that only this attack checks. */
  findings?: readonly Finding[]
}

/** A hostile client. While it runs, the harness measures a bystander's response times, memory and connections. */
export type Attack = {
  name: string
  /** One line that says what the attack sends and what could break. */
  about: string
  /** Runs the attack on a separate target with these options. */
  target?: TargetOptions
  /** Duration of the attack, if it is longer than usual. */
  durationMs?: number
  /** Probes without a verdict, because the attack disables what they need. */
  exempt?: readonly ProbeName[]
  /** No request of the bystander may fail, because the attacker only does what its organization may do. */
  mayNotFail?: true
  /** Prepares the target before the reference measurement. */
  prepare?(target: Target): Promise<unknown>
  /** Runs the attack and returns the attacker's responses. Throws SkipFault if the machine cannot run it. */
  run(target: Target, options: AttackOptions): Promise<AttackReport>
}
