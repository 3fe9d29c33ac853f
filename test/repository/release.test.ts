import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { writeSums } from '../../release/artifacts.ts'
import { problemsOf } from '../../release/checks.ts'
import { notesOf } from '../../release/notes.ts'
import { setVersion, versionsIn } from '../../release/versions.ts'

const repository = join(import.meta.dirname, '../..')
const [{ version } = { version: '' }] = versionsIn(repository)

/** A repository with the files that a release checks, all of them committed. */
const clone = mkdtempSync(join(tmpdir(), 'routerfleet-release-'))
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: clone })
const contract = '{}\n'
git('init', '--quiet')
for (const { file } of [...versionsIn(repository), { file: 'CHANGELOG.md' }]) {
  mkdirSync(join(clone, dirname(file)), { recursive: true })
  cpSync(join(repository, file), join(clone, file))
}
mkdirSync(join(clone, 'docs/contract'), { recursive: true })
writeFileSync(join(clone, 'docs/contract/openapi.json'), contract)
git('add', '.')
git('commit', '--quiet', '--message', 'Begin')
afterAll(() => rmSync(clone, { recursive: true }))

test('all parts of the product have the same version, which the changelog has', () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  const places = versionsIn(repository)
  expect(places).toEqual(places.map(({ file }) => ({ file, version })))
  expect(notesOf(readFileSync(join(repository, 'CHANGELOG.md'), 'utf8'), version)).toContain('### ')
})

test('a release of a clean tree has no problems', () => {
  expect(problemsOf(clone, version, contract)).toEqual([])
})

test('a release refuses another version, another document and changes that are not committed', () => {
  expect(problemsOf(clone, '9.8.7', contract)).toEqual([
    ...versionsIn(clone).map(({ file }) => `${file} has version ${version} and not 9.8.7.`),
    'CHANGELOG.md has no section "## [9.8.7] - <date>".',
  ])
  expect(problemsOf(clone, version, '{"openapi": "3.1.0"}')).toEqual([
    'docs/contract/openapi.json is not the document of this version.',
  ])
  writeFileSync(join(clone, 'notes.txt'), '')
  expect(problemsOf(clone, version, contract)).toEqual(['The tree has changes that are not committed:\n?? notes.txt'])
  rmSync(join(clone, 'notes.txt'))
})

test('a new version is written to all places, and changes nothing else', () => {
  setVersion(clone, '9.8.7')
  expect(new Set(versionsIn(clone).map((place) => place.version))).toEqual(new Set(['9.8.7']))
  const changed = git('diff', '--numstat').toString().trim().split('\n')
  const lines = Object.groupBy(versionsIn(clone), ({ file }) => file)
  expect(changed).toEqual(
    Object.entries(lines)
      .map(([file, at]) => `${at?.length}\t${at?.length}\t${file}`)
      .sort(byFile),
  )
  git('checkout', '--quiet', '.')
})

const byFile = (one: string, other: string) => ((one.split('\t')[2] ?? '') < (other.split('\t')[2] ?? '') ? -1 : 1)

test('the notes of a release are its section of the changelog', () => {
  const changelog =
    '# Changelog\n\n## [Unreleased]\n\n- Later\n\n## [1.1.0] - 2027-01-31\n\n### Added\n\n- A\n\n## [1.0.0]\n\n- B\n'
  expect(notesOf(changelog, '1.1.0')).toBe('### Added\n\n- A\n')
  // Without a date, it is not released. A part of a number is not a version.
  expect(notesOf(changelog, '1.0.0')).toBeUndefined()
  expect(notesOf(changelog, '1.1')).toBeUndefined()
})

test('the sums are those of sha256sum', () => {
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-sums-'))
  writeFileSync(join(folder, 'b.tgz'), 'abc')
  writeFileSync(join(folder, 'a.whl'), '')
  writeSums(folder)
  expect(readFileSync(join(folder, 'SHA256SUMS'), 'utf8')).toBe(
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a.whl\n' +
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  b.tgz\n',
  )
  rmSync(folder, { recursive: true })
})
