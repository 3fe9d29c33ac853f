import type { StoredRow } from '#questdb/writer/stored-rows'

/** Decides whether to replay data received at this time over the stored row. */
export function fateOver(stored: StoredRow, receivedAtMs: number): 'replay' | 'erased' | 'superseded' {
  if (stored.kind === 'erased') return 'erased'
  return stored.kind === 'row' && stored.receivedAtMs >= receivedAtMs ? 'superseded' : 'replay'
}
