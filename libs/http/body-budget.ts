import { Gauge, type Registry } from 'prom-client'
import { ServiceError } from '#core/errors'

/** How much memory request bodies may use: in total, and those of one holder. */
export type BodyLimits = { bytes: number; bytesPerHolder: number; bodies?: number; bodiesPerHolder?: number }

/** The share of one body in the budget. */
export type BodyAccount = {
  /** Counts received bytes. Throws 429 when the holder's limit is exceeded, 503 when the total limit is. */
  take(bytes: number): void
  /** Marks the body as fully received: from now on only its bytes count. */
  arrived(): void
  /** Returns everything. Further calls do nothing. */
  close(): void
}

export type BodyBudget = {
  /** Opens the account of one body of a holder: an address, a device or an organization. Throws 429 or 503 as `take` does. */
  open(holder: string): BodyAccount
  /** The present use by all bodies. */
  held(): { bytes: number; arrivingBodies: number }
}

type Held = { bytes: number; bodies: number }

/**
 * Limits the memory that request bodies use from their first byte to the response. Callers who send slowly can neither
 * exhaust the memory nor keep it from others.
 */
export function createBodyBudget(limits: BodyLimits): BodyBudget {
  const { bodies: maxBodies = Number.POSITIVE_INFINITY, bodiesPerHolder = Number.POSITIVE_INFINITY } = limits
  const all: Held = { bytes: 0, bodies: 0 }
  const byHolder = new Map<string, Held>()

  return {
    open(holder) {
      const own = byHolder.get(holder) ?? { bytes: 0, bodies: 0 }
      if (own.bodies >= bodiesPerHolder) throw tooManyOfHolder()
      if (all.bodies >= maxBodies) throw tooManyOfAll()
      byHolder.set(holder, own)
      const add = (bytes: number, bodies: number) => {
        for (const held of [own, all]) {
          held.bytes += bytes
          held.bodies += bodies
        }
        if (own.bytes === 0 && own.bodies === 0) byHolder.delete(holder)
        else byHolder.set(holder, own)
      }
      let takenBytes = 0
      let isArriving = true
      add(0, 1)
      const arrived = () => {
        if (!isArriving) return
        isArriving = false
        add(0, -1)
      }
      return {
        take(bytes) {
          if (own.bytes + bytes > limits.bytesPerHolder) throw tooManyOfHolder()
          if (all.bytes + bytes > limits.bytes) throw tooManyOfAll()
          takenBytes += bytes
          add(bytes, 0)
        },
        arrived,
        close() {
          arrived()
          add(-takenBytes, 0)
          takenBytes = 0
        },
      }
    },
    held: () => ({ bytes: all.bytes, arrivingBodies: all.bodies }),
  }
}

const tooManyOfHolder = () =>
  new ServiceError(429, 'rate_limited', 'Too many concurrent uploads. Retry after earlier requests have completed.', {
    headers: { 'Retry-After': '2' },
  })

const tooManyOfAll = () =>
  new ServiceError(503, 'unavailable', 'The service is receiving too many uploads. Retry later.', {
    headers: { 'Retry-After': '2' },
  })

/** Registers the gauges `http_<caller>_body_bytes` and `http_<caller>_bodies_arriving` of a budget. */
export function registerBodyMetrics(registry: Registry, caller: string, budget: BodyBudget): void {
  new Gauge({
    name: `http_${caller}_body_bytes`,
    help: `Bytes of request bodies in memory (callers: ${caller}).`,
    registers: [registry],
    collect() {
      this.set(budget.held().bytes)
    },
  })
  new Gauge({
    name: `http_${caller}_bodies_arriving`,
    help: `Request bodies that are being received (callers: ${caller}).`,
    registers: [registry],
    collect() {
      this.set(budget.held().arrivingBodies)
    },
  })
}
