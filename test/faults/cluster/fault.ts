import type { ClusterScene } from './scene.ts'

/** A failure of one part of the cluster. */
export type ClusterFault = {
  name: string
  /** Without it, 3, and 1 with --quick. */
  rounds?: number
  /** Repairs what the last round left, before the next one. */
  prepare?(options: { round: number }): Promise<void>
  /** Causes the failure once. Resolves when another process has replaced a killed one. */
  cause(scene: ClusterScene, options: { round: number; quick: boolean }): Promise<void>
  apiErrors: ErrorPeriod | ((scene: ClusterScene) => ErrorPeriod)
}

/**
 * How long API requests may fail. `change`: 10 s from the beginning of the failure. `recovery`: until 5 s after the failed
 * engine answers, for an engine that every request needs and that exists once.
 */
type ErrorPeriod = 'never' | 'change' | 'recovery'
