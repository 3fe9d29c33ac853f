import { Gauge, type Registry } from 'prom-client'
import { ServiceError } from '#core/errors'

/** How much the bodies of requests may hold: all together, and those of one holder. */
export type BodyLimits = { bytes: number; bytesPerHolder: number; bodies?: number; bodiesPerHolder?: number }

/** What one body holds of the budget. */
export type BodyAccount = {
  /** Counts bytes that have arrived. Throws 429 or 503 when the holder or all together hold too much. */
  take(bytes: number): void
  /** Ends the arrival: from now on the body counts by its bytes only. */
  arrived(): void
  /** Returns everything. Further calls do nothing. */
  close(): void
}

export type BodyBudget = {
  /** Begins one body of a holder: an address, a device or an organization. Throws 429 or 503 as `take` does. */
  open(holder: string): BodyAccount
  /** What all bodies hold at present. */
  held(): { bytes: number; arrivingBodies: number }
}

type Held = { bytes: number; bodies: number }

/**
 * Bounds the memory that bodies of requests take while they arrive and until they are answered, so that callers who send
 * slowly can neither fill the memory nor take all of it from others.
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
  new ServiceError(429, 'rate_limited', 'You are sending too much at once. Retry when earlier requests have ended.', {
    headers: { 'Retry-After': '2' },
  })

const tooManyOfAll = () =>
  new ServiceError(503, 'unavailable', 'The service is receiving too much at once. Retry later.', {
    headers: { 'Retry-After': '2' },
  })

/** Shows what a budget's bodies hold as `http_<caller>_body_bytes` and `http_<caller>_bodies_arriving`. */
export function registerBodyMetrics(registry: Registry, caller: string, budget: BodyBudget): void {
  new Gauge({
    name: `http_${caller}_body_bytes`,
    help: `Bytes of request bodies that are held until they are answered (callers: ${caller}).`,
    registers: [registry],
    collect() {
      this.set(budget.held().bytes)
    },
  })
  new Gauge({
    name: `http_${caller}_bodies_arriving`,
    help: `Request bodies that have not arrived whole yet (callers: ${caller}).`,
    registers: [registry],
    collect() {
      this.set(budget.held().arrivingBodies)
    },
  })
}
