/**
 * Settings of QuestDB that do not depend on the machine, as environment variables. A test compares docker-compose.yml with
 * them.
 */
export const questdbTuning: Record<string, string> = {
  QDB_TELEMETRY_ENABLED: 'false',
  QDB_TELEMETRY_DISABLE_COMPLETELY: 'true',
  QDB_LINE_TCP_ENABLED: 'false',
  // Only our schema creates tables and columns: QuestDB rejects an invalid line instead of adding a column.
  QDB_LINE_AUTO_CREATE_NEW_TABLES: 'false',
  QDB_LINE_AUTO_CREATE_NEW_COLUMNS: 'false',
  // A query gives up when it cannot read a table that changes for this long. Default: 1 s, which busy cores exceed.
  QDB_CAIRO_SPIN_LOCK_TIMEOUT: '10s',
  ...smallPages(),
  ...smallCompilers(),
  ...workers(),
  ...restingWorkers(),
}

/**
 * After each commit, QuestDB extends every column of the newest partition by a page, and truncates it before the next one.
 * With the default of 16 MiB, this takes more time than the rows of a small commit.
 * An index grows by a block for each device in a commit: with 64 KiB, a large fleet extends the file hundreds of times.
 * The file of ids grows by 4 KiB by default, and each time the file system visits all of its extents: with a million new devices,
 * this took 70 % of QuestDB's time.
 */
function smallPages(): Record<string, string> {
  const bytes = String(64 * 1024)
  const indexBytes = String(1024 * 1024)
  return {
    QDB_CAIRO_WRITER_DATA_APPEND_PAGE_SIZE: bytes,
    QDB_CAIRO_WRITER_DATA_INDEX_KEY_APPEND_PAGE_SIZE: bytes,
    QDB_CAIRO_WRITER_DATA_INDEX_VALUE_APPEND_PAGE_SIZE: indexBytes,
    QDB_CAIRO_SYMBOL_TABLE_MIN_ALLOCATION_PAGE_SIZE: String(256 * 1024),
  }
}

/**
 * Each SQL compiler starts with 1,024 empty query models of 12 KB, and concurrent queries create a dozen compilers, which
 * together fill a third of the heap. The pools grow with the statements.
 */
function smallCompilers(): Record<string, string> {
  return { QDB_CAIRO_MODEL_POOL_CAPACITY: '64' }
}

/**
 * Queries have workers of their own, and more than the queries of one caller can use (`maxQueriesPerOwner`), so that a short
 * query does not wait for incoming rows or for the long queries of another caller. A worker applies the rows of one table at a
 * time: with several, rows of one table do not delay those of the others.
 */
function workers(): Record<string, string> {
  return { QDB_PG_WORKER_COUNT: '6', QDB_SHARED_NETWORK_WORKER_COUNT: '2', QDB_WAL_APPLY_WORKER_COUNT: '4' }
}

/**
 * Makes idle workers sleep early. By default, an idle worker polls thousands of times, then naps for 1 ms thousands of times,
 * and each commit restarts this: two commits per second use half a core. Each wake-up costs up to 100 µs, so work that can
 * wait sleeps longer. The next of the PG workers to wake up takes a query, so that it waits 3 ms on average.
 */
function restingWorkers(): Record<string, string> {
  const pools = ['SHARED', 'PG', 'WAL_APPLY', 'MAT_VIEW_REFRESH', 'VIEW_COMPILER', 'EXPORT']
  const sleepMs = { SHARED: 50, PG: 20, WAL_APPLY: 100, MAT_VIEW_REFRESH: 100, VIEW_COMPILER: 500, EXPORT: 500 }
  const early = pools.flatMap((pool) => [
    [`QDB_${pool}_WORKER_NAP_THRESHOLD`, '100'],
    [`QDB_${pool}_WORKER_SLEEP_THRESHOLD`, '110'],
  ])
  const long = Object.entries(sleepMs).map(([pool, ms]) => [`QDB_${pool}_WORKER_SLEEP_TIMEOUT`, String(ms)])
  return Object.fromEntries([...early, ...long])
}
