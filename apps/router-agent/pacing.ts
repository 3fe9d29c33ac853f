/**
 * Returns a function that says at a time whether something is due that happens every `everyMs`, from `dueAtMs` on. It counts as
 * done then. After the clock was set back, it is due.
 */
export function createPacing(everyMs: number, dueAtMs = Number.NEGATIVE_INFINITY): (nowMs: number) => boolean {
  let doneAtMs = dueAtMs - everyMs
  return (nowMs) => {
    if (nowMs >= doneAtMs && nowMs < doneAtMs + everyMs) return false
    doneAtMs = nowMs
    return true
  }
}
