import type { ProbeName } from './attack.ts'

/** What the bystander needs to know of the service. */
export type BystanderPlace = {
  url: string
  ingestUrl: string
  organizationId: string
  apiKey: string
  device: { id: string; token: string }
  /** The parts whose memory is measured: apps and engines. */
  pids: Record<string, number>
}

export type Wait = {
  longestMs: number
  /** How many finished. */
  count: number
  /** Attempts that were not answered as they should be; each was repeated. */
  failures: number
  lastFailure?: string
}

export type Memory = { beforeMib: number; peakMib: number; grownMib: number }

/** What was measured since `begin`. Requests that have not finished count with their wait so far. */
export type Figures = {
  waits: Record<ProbeName, Wait>
  /** What the machine itself costs: the longest wait at a server that does nothing, or for the bystander's own timer. */
  stallMs: number
  /** The share of the machine's processors that programs other than the service and its attackers used, 0 to 1. */
  othersShare: number
  memory: Record<string, Memory>
  /** Samples of the bystander that were acknowledged since it started. */
  acceptedSamples: number
}

export type Order =
  | { kind: 'place'; place: BystanderPlace }
  | { kind: 'pids'; pids: Record<string, number> }
  | { kind: 'begin' }
  | { kind: 'figures' }
  /** Answers when everything begun before is finished, at the latest after `withinMs`. */
  | { kind: 'drain'; withinMs: number }
  /** Sends no new reports and answers when all are acknowledged. */
  | { kind: 'finish' }

export type OrderMessage = { number: number; order: Order }
export type ReplyMessage = { number: number; figures?: Figures }
