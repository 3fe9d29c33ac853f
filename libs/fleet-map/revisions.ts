import { randomBytes } from 'node:crypto'
import { badRequest } from '#core/errors'

/** A moment in the life of one process' picture of the fleet. */
export type Moment = { epoch: string; revision: number; timeMs: number }

/** Counts the changes of everything this process shows, so that one number says what a reader has already seen. */
export type Revisions = {
  /** Tells this process' numbers from another's, and from those before a restart. */
  epoch: string
  current(): number
  next(): number
}

export function createRevisions(): Revisions {
  let revision = 0
  return { epoch: randomBytes(4).toString('hex'), current: () => revision, next: () => ++revision }
}

/** The opaque `asOf` of an answer, to be sent back as `since`. */
export const momentToken = ({ epoch, revision, timeMs }: Moment): string =>
  `${epoch}-${revision.toString(36)}-${timeMs.toString(36)}`

const tokenPattern = /^([0-9a-f]{8})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const latestMs = Date.UTC(9999, 11, 31)

/** Reads an `asOf` back. Throws 400 when it is none. */
export function parseMomentToken(token: string): Moment {
  const [, epoch = '', revisionDigits = '', timeDigits = ''] = tokenPattern.exec(token) ?? []
  const revision = Number.parseInt(revisionDigits, 36)
  const timeMs = Number.parseInt(timeDigits, 36)
  if (!Number.isSafeInteger(revision) || !(timeMs <= latestMs)) {
    const detail = 'Send the asOf of an earlier answer.'
    throw badRequest(detail, [{ pointer: 'since', code: 'invalid_since', detail }])
  }
  return { epoch, revision, timeMs }
}
