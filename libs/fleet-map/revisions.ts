import { randomBytes } from 'node:crypto'
import { badRequest } from '#core/errors'

/** A state of the fleet map of one process. */
export type MapMoment = { epoch: string; revision: number; timeMs: number }

/** Counts all changes of the data that this process returns, so that one number identifies the state of a reader. */
export type Revisions = {
  /** Identifies this process since its start, because other processes have their own revisions. */
  epoch: string
  current(): number
  /** The moment if this process issued it. Of other processes' moments, only the time is meaningful. */
  own<Some extends MapMoment>(moment: Some | undefined): Some | undefined
  next(): number
}

export function createRevisions(): Revisions {
  let revision = 0
  const epoch = randomBytes(4).toString('hex')
  return {
    epoch,
    current: () => revision,
    own: (moment) => (moment?.epoch === epoch ? moment : undefined),
    next: () => ++revision,
  }
}

/** The opaque `asOf` of a response, for the parameter `since`. */
export const momentToken = ({ epoch, revision, timeMs }: MapMoment): string =>
  `${epoch}-${revision.toString(36)}-${timeMs.toString(36)}`

const tokenPattern = /^([0-9a-f]{8})-([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const latestMs = Date.UTC(9999, 11, 31)

/** Parses an `asOf`. Throws 400 if it is invalid. */
export function parseMomentToken(token: string): MapMoment {
  const [, epoch = '', revisionDigits = '', timeDigits = ''] = tokenPattern.exec(token) ?? []
  const revision = Number.parseInt(revisionDigits, 36)
  const timeMs = Number.parseInt(timeDigits, 36)
  if (!Number.isSafeInteger(revision) || !(timeMs <= latestMs)) {
    const detail = 'Send the asOf of an earlier response.'
    throw badRequest(detail, [{ pointer: 'since', code: 'invalid_since', detail }])
  }
  return { epoch, revision, timeMs }
}
