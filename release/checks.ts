import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptFile } from './contract.ts'
import { notesOf } from './notes.ts'
import { versionsIn } from './versions.ts'

/** Returns why the repository cannot be released as this version. `contract` is the present document in the form that is kept. */
export function problemsOf(repository: string, version: string, contract: string): string[] {
  const read = (path: string) =>
    existsSync(join(repository, path)) ? readFileSync(join(repository, path), 'utf8') : ''
  const changed = execFileSync('git', ['status', '--porcelain'], { cwd: repository, encoding: 'utf8' }).trimEnd()
  return [
    ...(changed === '' ? [] : [`The tree has changes that are not committed:\n${changed}`]),
    ...versionsIn(repository)
      .filter((place) => place.version !== version)
      .map((place) => `${place.file} has version ${place.version} and not ${version}.`),
    ...(notesOf(read('CHANGELOG.md'), version) ? [] : [`CHANGELOG.md has no section "## [${version}] - <date>".`]),
    ...(read(keptFile) === contract ? [] : [`${keptFile} is not the document of this version.`]),
  ]
}
