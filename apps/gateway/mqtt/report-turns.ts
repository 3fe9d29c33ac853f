import type { Delivered } from '../delivery.ts'

type Report = () => Promise<Delivered | undefined>

/** Begins the report after the one on its way. Calls before it begins share it: it must read what to report when it begins. */
export type ReportTurns = (report: Report) => Promise<Delivered | undefined>

/** Reports one after another: an earlier report must not replace a fuller one. */
export function createReportTurns(): ReportTurns {
  let current: Promise<Delivered | undefined> | undefined
  let next: Promise<Delivered | undefined> | undefined
  return (report) => {
    if (next) return next
    const before = current?.catch(() => undefined) ?? Promise.resolve()
    next = before.then(() => {
      current = next
      next = undefined
      return report()
    })
    return next
  }
}
