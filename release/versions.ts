import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

// The places of the repository that name the version of the product. The service, its document and the page read package.json.

type Place = { file: string; pattern: RegExp; isOptional?: boolean }

/** Each pattern has the version as its second group. */
const places: readonly Place[] = [
  { file: 'package.json', pattern: /^( {2}"version": ")([^"]*)(")/m },
  { file: 'package-lock.json', pattern: /^( {2}"version": ")([^"]*)(")/m },
  { file: 'package-lock.json', pattern: /^( {6}"version": ")([^"]*)(")/m },
  { file: 'clients/typescript/package.json', pattern: /^( {2}"version": ")([^"]*)(")/m },
  { file: 'clients/python/pyproject.toml', pattern: /^(version = ")([^"]*)(")/m, isOptional: true },
  { file: 'agents/openwrt/Makefile', pattern: /^(PKG_VERSION:=)(\S*)()/m },
]

/** The version that each place names, with the file as the name of the place. */
export function versionsIn(repository: string): { file: string; version: string }[] {
  return presentIn(repository).map(({ file, pattern }) => ({
    file,
    version: pattern.exec(readFileSync(join(repository, file), 'utf8'))?.[2] ?? 'none',
  }))
}

/** Writes the version to all places. */
export function setVersion(repository: string, version: string): void {
  for (const { file, pattern } of presentIn(repository)) {
    const path = join(repository, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(pattern, `$1${version}$3`))
  }
}

const presentIn = (repository: string) =>
  places.filter(({ file, isOptional }) => !isOptional || existsSync(join(repository, file)))
