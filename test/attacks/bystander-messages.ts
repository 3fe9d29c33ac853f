import type { ProbeName } from './attack.ts'

/** The addresses and keys that the bystander needs. */
export type BystanderPlace = {
  url: string
  ingestUrl: string
  organizationId: string
  apiKey: string
  device: { id: string; token: string }
  /** The apps and engines whose memory is measured. */
  pids: Record<string, number>
}

export type Wait = {
  longestMs: number
  /** How many finished. */
  count: number
  /** Attempts with an unexpected response. Each was repeated. */
  failures: number
  lastFailure?: string
}

export type Memory = { beforeMib: number; peakMib: number; grownMib: number }

/** The measurements since `begin`. Unfinished requests count with their wait so far. */
export type Figures = {
  waits: Record<ProbeName, Wait>
  /** The delay caused by the machine: the longest wait for an idle server or for the bystander's own timer. */
  stallMs: number
  /** The share of the processors that other programs used, without the service and its attackers; 0 to 1. */
  othersShare: number
  memory: Record<string, Memory>
  /** Acknowledged samples of the bystander since its start. */
  acceptedSamples: number
}

export type Order =
  | { kind: 'place'; place: BystanderPlace }
  | { kind: 'pids'; pids: Record<string, number> }
  | { kind: 'begin' }
  | { kind: 'figures' }
  /** Responds when all earlier requests are finished, at the latest after `withinMs`. */
  | { kind: 'drain'; withinMs: number }
  /** Sends no new reports and responds when all are acknowledged. */
  | { kind: 'finish' }

export type OrderMessage = { number: number; order: Order }
export type ReplyMessage = { number: number; figures?: Figures }
