import type { QuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import type { DeviceReports } from '#telemetry-writer/states/device-reports'
import type { DeviceStates } from '#telemetry-writer/states/device-states'
import type { FlushScheduler } from '#telemetry-writer/store/flush-scheduler'
import { fates, type RowBatch } from '#telemetry-writer/store/row-batch'
import type { Realigned } from '#telemetry-writer/tracks/realign-range'
import { takeRealignTurn } from './realign-turn.ts'
import { createRealignTurns } from './realign-turns.ts'

export type RealignmentRunner = {
  /** Realigns devices if it is time. Nothing else may read meanwhile: rows must not change before they are written. */
  run(): Promise<void>
}

export type RealignmentRunnerParts = {
  questdb: QuestdbSql
  states: DeviceStates
  rows: RowBatch
  reports: DeviceReports
  flushes: FlushScheduler
  isBacklogged: () => boolean
  /** True when reports wait in the log. */
  isFreshWaiting: () => boolean
  isStopping: () => boolean
  /** Called when the realignment of a device has failed repeatedly and is given up. */
  onFailure: (deviceId: string, error: unknown) => void
}

/** With fewer devices to realign than this, dwells are also closed, so that late data does not wait for parked devices. */
const maxDirty = 100
/** After this time, new reports are processed before the rest. */
const realignForMs = 500
/** Realigning needs all rows in the database. It waits this long for a regular flush instead of causing one. */
const waitForFlushMs = 2_750

/** Decides when devices are realigned, and adds the rows that moved to the batch. */
export function createRealignmentRunner(parts: RealignmentRunnerParts): RealignmentRunner {
  const { questdb, states, rows, reports, flushes, isBacklogged, isFreshWaiting, isStopping, onFailure } = parts
  const turns = createRealignTurns(performance.now())

  function append(realigned: Realigned): void {
    rows.allOrNone(() => {
      for (const { row, origin } of realigned.rows) rows.appendRadio(row, origin, fates.uncounted, 'realigned')
      for (const { row, origin } of realigned.dwells) rows.append('dwell', row, origin, fates.uncounted, 'dwell')
    })
    for (const { row, origin } of realigned.dwells) reports.noteDwell(row, origin)
    // The rows of a finished device do not wait for the next devices.
    if (!rows.isEmpty()) flushes.noteAdded()
  }

  return {
    async run() {
      const startedMs = performance.now()
      if (!turns.isDue(flushes.hasWaiting() ? startedMs - waitForFlushMs : startedMs)) return
      const late = turns.inOrder(states.dirty())
      const settling = isBacklogged() ? [] : states.settle(Date.now(), maxDirty - late.length)
      const dirty = [...late, ...settling]
      if (dirty.length === 0) return turns.ended({ startedMs, endedMs: startedMs, isLeftOver: false })
      await flushes.flushAll()
      const isApplied = await waitUntilApplied(questdb, realignForMs)
      const limitMs = performance.now() + realignForMs
      const { lastDeviceId, isLeftOver } = await takeRealignTurn(isApplied ? dirty : [], {
        questdb,
        append,
        flush: flushes.flushWhenDue,
        isOver: () => (performance.now() > limitMs && isFreshWaiting()) || isStopping() || flushes.isFull(),
        nowMs: Date.now,
        onFailure,
      })
      turns.ended({ startedMs, endedMs: performance.now(), lastDeviceId, isLeftOver })
    },
  }
}
