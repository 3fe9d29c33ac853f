import { globSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { dirname, join } from 'node:path'

// Builds the map of the world that the page shows without another background: one PMTiles file with land, borders and the names
// of countries and towns. Builds nothing if the file is newer than these sources and the versions of the data.

const folder = import.meta.dirname
const file = join(folder, 'dist/world.pmtiles')

/** Returns the time of the last change of a file in epoch milliseconds; 0 if it does not exist. */
const changedMs = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

function isCurrent(): boolean {
  const sources = [...globSync(join(folder, '!(*.test).ts')), join(folder, '../../package-lock.json')]
  return changedMs(file) > Math.max(...sources.map(changedMs))
}

if (!isCurrent()) {
  // The service that starts beside it goes first.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  const { buildWorld } = await import('./build-world.ts')
  const archive = buildWorld()
  mkdirSync(dirname(file), { recursive: true })
  // Two builds at the same time do not write into one file.
  const building = `${file}.${process.pid}`
  writeFileSync(building, archive)
  renameSync(building, file)
}
