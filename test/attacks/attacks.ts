import type { Attack } from './attack.ts'
import { bulkImports } from './scenarios/bulk-imports.ts'
import { compressionBombs } from './scenarios/compression-bombs.ts'
import { eventStreams } from './scenarios/event-streams.ts'
import { fixesInOnePlace } from './scenarios/fixes-in-one-place.ts'
import { identityProviderDown } from './scenarios/identity-provider-down.ts'
import { idleConnections } from './scenarios/idle-connections.ts'
import { largeRows } from './scenarios/large-rows.ts'
import { lateFixes } from './scenarios/late-fixes.ts'
import { logDiskFull } from './scenarios/log-disk-full.ts'
import { logGrowth } from './scenarios/log-growth.ts'
import { longForecasts } from './scenarios/long-forecasts.ts'
import { longPolls } from './scenarios/long-polls.ts'
import { neighbours } from './scenarios/neighbours.ts'
import { nestedBodies } from './scenarios/nested-bodies.ts'
import { nestedReports } from './scenarios/nested-reports.ts'
import { outages } from './scenarios/outages.ts'
import { readinessFlood } from './scenarios/readiness-flood.ts'
import { revokedExports } from './scenarios/revoked-exports.ts'
import { settingsKeys } from './scenarios/settings-keys.ts'
import { sharedLog } from './scenarios/shared-log.ts'
import { unboundedReads } from './scenarios/unbounded-reads.ts'
import { unfinishedRequests } from './scenarios/unfinished-requests.ts'
import { unknownCredentials } from './scenarios/unknown-credentials.ts'

/**
 * All attacks in the order in which they run. Those that store a million rows are behind the others of the common target, because
 * its rows are counted after each attack. Attacks with a separate target are last.
 */
export const attacks: readonly Attack[] = [
  settingsKeys,
  nestedBodies,
  nestedReports,
  compressionBombs,
  bulkImports,
  unfinishedRequests,
  idleConnections,
  longPolls,
  unknownCredentials,
  readinessFlood,
  unboundedReads,
  longForecasts,
  eventStreams,
  revokedExports,
  ...outages,
  sharedLog,
  fixesInOnePlace,
  lateFixes,
  largeRows,
  neighbours,
  identityProviderDown,
  logGrowth,
  logDiskFull,
]
