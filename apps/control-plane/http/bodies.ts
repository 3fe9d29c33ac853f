import type { Registry } from 'prom-client'
import { type BodyBudget, createBodyBudget, registerBodyMetrics } from '#http/body-budget'

const mebibyte = 1024 * 1024

/** What the bodies of requests may hold, by who sends them. */
export type Bodies = {
  /** By address: enrollments and requests for access tokens, whose credentials are in the body. */
  unauthenticated: BodyBudget
  /** By token. */
  device: BodyBudget
  /** By organization. */
  principal: BodyBudget
}

/** How long a body may take to arrive from a caller that is not authenticated yet. */
export const unauthenticatedBodyMs = 10_000

/** Small for callers nobody knows; for the others enough for three of the largest bodies at once. */
export function createBodies(registry: Registry): Bodies {
  const bodies: Bodies = {
    unauthenticated: createBodyBudget({
      bytes: 64 * mebibyte,
      bytesPerHolder: 4 * mebibyte,
      bodies: 4_000,
      bodiesPerHolder: 500,
    }),
    device: createBodyBudget({ bytes: 96 * mebibyte, bytesPerHolder: 8 * mebibyte }),
    principal: createBodyBudget({ bytes: 128 * mebibyte, bytesPerHolder: 24 * mebibyte }),
  }
  for (const [caller, budget] of Object.entries(bodies)) registerBodyMetrics(registry, caller, budget)
  return bodies
}
