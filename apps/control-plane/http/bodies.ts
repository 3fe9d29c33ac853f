import type { Registry } from 'prom-client'
import { type BodyBudget, createBodyBudget, registerBodyMetrics } from '#http/body-budget'

const mebibyte = 1024 * 1024

/** Memory budgets for request bodies, by kind of caller. */
export type Bodies = {
  /** By address: enrollments and token requests, whose credentials are in the body. */
  unauthenticated: BodyBudget
  /** By token. */
  device: BodyBudget
  /** By organization. */
  principal: BodyBudget
}

/** Time limit for the body of an unauthenticated caller. */
export const unauthenticatedBodyMs = 10_000

/**
 * Small budgets for unauthenticated callers and routers; for organizations, two of the largest bodies at the same time.
 * Together 128 MiB, because bodies are also joined and decoded: with 192 MiB, generated requests for ten minutes added
 * 423 MiB to the process.
 */
export function createBodies(registry: Registry): Bodies {
  const bodies: Bodies = {
    unauthenticated: createBodyBudget({
      bytes: 32 * mebibyte,
      bytesPerHolder: 4 * mebibyte,
      bodies: 4_000,
      bodiesPerHolder: 500,
    }),
    device: createBodyBudget({ bytes: 32 * mebibyte, bytesPerHolder: 4 * mebibyte }),
    principal: createBodyBudget({ bytes: 64 * mebibyte, bytesPerHolder: 16 * mebibyte }),
  }
  for (const [caller, budget] of Object.entries(bodies)) registerBodyMetrics(registry, caller, budget)
  return bodies
}
