import { forEachInSlices } from '#core/slices'
import type { DeviceTable, PlacedDevice } from '#fleet-map/tiles/device-table'
import type { Level } from '#fleet-map/tiles/level'

/**
 * The levels of an index. A change is noted once and reaches a level when the level is read or caught up, so that a reader of
 * one zoom does not wait for the levels of the others. Calls that return promises must not overlap.
 */
export type IndexLevels = {
  /** Notes the change of a row for all levels. */
  change(row: number, before: PlacedDevice | undefined, after: PlacedDevice | undefined): void
  /** The level of this key with all changes. It is made from the table at its first use. */
  read<Made extends Level>(key: LevelKey<Made>, nowMs: number): Promise<Made>
  /** Brings a level up to date. Resolves to false if none is behind. */
  catchUp(): Promise<boolean>
  /** Drops the levels that were not read for five minutes. */
  forget(nowMs: number): void
  /** Estimated bytes in memory. */
  bytes(): number
}

/** Names a level, and makes an empty one. */
export type LevelKey<Made extends Level> = { name: string; create: () => Made }

type Change = { row: number; before: PlacedDevice | undefined; after: PlacedDevice | undefined }
/** A level that has the first `applied` changes of all that were ever noted. */
type Kept = { level: Level; usedMs: number; applied: number }

// A level that is not read costs memory, and time at each change.
const forgottenAfterMs = 5 * 60_000
const changeBytes = 200

export function createIndexLevels(table: DeviceTable): IndexLevels {
  const kept = new Map<string, Kept>()
  /** Changes that some level does not have yet. */
  let changes: Change[] = []
  /** How many changes were noted before those. */
  let dropped = 0

  const noted = (): number => dropped + changes.length
  const dropApplied = (): void => {
    const applied = Math.min(noted(), ...[...kept.values()].map((each) => each.applied))
    if (applied === dropped) return
    changes = changes.slice(applied - dropped)
    dropped = applied
  }
  const apply = async (name: string, behind: Kept): Promise<void> => {
    const missing = changes.slice(behind.applied - dropped)
    // If one fails, the level has only some of them, so it is made anew at its next use.
    kept.delete(name)
    await forEachInSlices(missing, ({ row, before, after }) => behind.level.change(row, before, after))
    kept.set(name, { ...behind, applied: noted() })
    dropApplied()
  }
  const fill = async (level: Level): Promise<void> => {
    await forEachInSlices(numbersTo(table.rows()), (row) => {
      const device = table.placed(row)
      if (device) level.change(row, undefined, device)
    })
  }

  return {
    change(row, before, after) {
      if (kept.size > 0 && !isSame(before, after)) changes.push({ row, before, after })
    },
    async read({ name, create }, nowMs) {
      const known = kept.get(name)
      if (known) {
        await apply(name, { ...known, usedMs: nowMs })
        return known.level as ReturnType<typeof create>
      }
      const level = create()
      await fill(level)
      kept.set(name, { level, usedMs: nowMs, applied: noted() })
      return level
    },
    async catchUp() {
      const behind = [...kept].find(([, { applied }]) => applied < noted())
      if (behind) await apply(...behind)
      return behind !== undefined
    },
    forget(nowMs) {
      for (const [name, { usedMs }] of kept) if (nowMs - usedMs > forgottenAfterMs) kept.delete(name)
      dropApplied()
    },
    bytes: () => [...kept.values()].reduce((sum, { level }) => sum + level.bytes(), changes.length * changeBytes),
  }
}

const isSame = (a: PlacedDevice | undefined, b: PlacedDevice | undefined): boolean =>
  a?.latE7 === b?.latE7 && a?.lonE7 === b?.lonE7 && a?.status === b?.status && a?.quality === b?.quality

function* numbersTo(end: number): Generator<number> {
  for (let number = 0; number < end; number++) yield number
}
