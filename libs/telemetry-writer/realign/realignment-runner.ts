import type { QuestdbSql } from '#questdb/server/sql'
import { waitUntilApplied } from '#questdb/server/wal-tables'
import type { DeviceReports } from '#telemetry-writer/states/device-reports'
import type { DeviceStates } from '#telemetry-writer/states/device-states'
import type { FlushScheduler } from '#telemetry-writer/store/flush-scheduler'
import { fates, type RowBatch } from '#telemetry-writer/store/row-batch'
import type { Realigned } from '#telemetry-writer/tracks/realign-range'
import { type RealignTurn, workOn } from './realign-turn.ts'

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

/** Late data arrives in several reports. A pause lets one realignment cover all of them. */
const pauseMs = 5_000
/** While work is left, turns take a fifth of the time. */
const pausePerTurn = 4
/** With fewer devices to realign than this, dwells are also closed, so that late data does not wait for parked devices. */
const maxDirty = 100
/** After this time, new reports are processed before the rest. */
const realignForMs = 500
/** Realigning needs all rows in the database. It waits this long for a regular flush instead of causing one. */
const waitForFlushMs = 2_750

/** Returns the devices after the last one of the previous turn first, so that none delays the others. */
export function afterLast<State>(
  dirty: readonly [string, State][],
  lastDeviceId: string | undefined,
): [string, State][] {
  const behind = dirty.findIndex(([deviceId]) => deviceId === lastDeviceId) + 1
  return [...dirty.slice(behind), ...dirty.slice(0, behind)]
}

/** Returns the pause after a turn. It is shorter if work is left. */
export const pauseAfter = (tookMs: number, isLeftOver: boolean): number =>
  isLeftOver ? Math.min(pauseMs, pausePerTurn * tookMs) : pauseMs

/** Decides when devices are realigned, and adds the rows that moved to the batch. */
export function createRealignmentRunner(parts: RealignmentRunnerParts): RealignmentRunner {
  const { questdb, states, rows, reports, flushes, isBacklogged, isFreshWaiting, isStopping, onFailure } = parts
  let dueAtMs = performance.now() + pauseMs
  let lastDeviceId: string | undefined
  /** Of the present turn. */
  let limitMs = 0

  function append(realigned: Realigned): void {
    rows.allOrNone(() => {
      for (const { row, origin } of realigned.rows) rows.appendRadio(row, origin, fates.uncounted, 'realigned')
      for (const { row, origin } of realigned.dwells) rows.append('dwell', row, origin, fates.uncounted, 'dwell')
    })
    for (const { row, origin } of realigned.dwells) reports.noteDwell(row, origin)
    // The rows of a finished device do not wait for the next devices.
    if (!rows.isEmpty()) flushes.noteAdded()
  }

  const turn: RealignTurn = {
    questdb,
    append,
    flush: flushes.flushWhenDue,
    isOver: () => (performance.now() > limitMs && isFreshWaiting()) || isStopping() || flushes.isFull(),
    onFailure,
  }

  return {
    async run() {
      const startedMs = performance.now()
      if (startedMs < dueAtMs + (flushes.hasWaiting() ? waitForFlushMs : 0)) return
      const late = afterLast(states.dirty(), lastDeviceId)
      const settling = isBacklogged() ? [] : states.settle(Date.now(), maxDirty - late.length)
      let waiting = [...late, ...settling]
      if (waiting.length > 0) {
        await flushes.flushAll()
        if (!(await waitUntilApplied(questdb, realignForMs))) waiting = []
        limitMs = performance.now() + realignForMs
      }
      for (let next = waiting.shift(); next !== undefined; next = turn.isOver() ? undefined : waiting.shift()) {
        const [deviceId, state] = next
        if (!(await workOn(deviceId, state, turn))) waiting.push(next)
        lastDeviceId = deviceId
      }
      const endedMs = performance.now()
      dueAtMs = endedMs + pauseAfter(endedMs - startedMs, waiting.length > 0)
    },
  }
}
