import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const repository = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const readme = read('README.md')

test('the README lists exactly the folders of apps and libs', () => {
  const named = [...readme.matchAll(/^((?:apps|libs)\/[\w-]+) {2,}/gm)].map(([, folder]) => folder)
  expect(named.toSorted()).toEqual(globSync(['apps/*', 'libs/*'], { cwd: repository }).toSorted())
})

/** Returns the Markdown files that people read on GitHub, relative to the repository. */
const pages = globSync(['*.md', 'docs/**/*.md'], { cwd: repository })

test.each(pages)('every link of %s leads to a file', (page) => {
  const links = [...read(page).matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link = '']) => link)
  const files = links.filter((link) => !link.startsWith('http')).map((link) => join(dirname(page), link))
  expect(files.filter((file) => !existsSync(join(repository, file)))).toEqual([])
})

test.each(pages)('every heading that %s links to exists', (page) => {
  const slugs = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  const anchors = [...read(page).matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor = '']) => anchor)
  expect(anchors.filter((anchor) => !slugs.includes(anchor))).toEqual([])
})

test.each(['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: repository })])(
  'every source file that %s names exists',
  (page) => {
    const named = [...read(page).matchAll(/`((?:apps|libs|test|bench|docs)\/[\w./-]+\.\w+)`/g)].map(
      ([, path = '']) => path,
    )
    expect(named.filter((path) => !existsSync(join(repository, path)))).toEqual([])
  },
)

test('every metric in an alarm exists in the source', () => {
  const [, alarms = ''] = /^### Alarms$(.*?)^### /ms.exec(read('docs/operations.md')) ?? []
  const named = [...alarms.matchAll(/^\| `(.+?)`/gm)].flatMap(([, expression = '']) => [
    ...expression.matchAll(/\b(?:telemetry|http|periodic|queue)_\w+/g),
  ])
  expect(named.length).toBeGreaterThan(10)
  const sources = globSync(['apps/**/*.ts', 'libs/**/*.ts'], { cwd: repository }).map(read).join('\n')
  expect(named.map(([name]) => name).filter((name) => !sources.includes(`'${name}'`))).toEqual([])
})

test('CONTRIBUTING answers twenty questions with a file each', () => {
  const rows = [...read('CONTRIBUTING.md').matchAll(/^\| Where .+\? \| `(\S+)` \|$/gm)]
  expect(rows).toHaveLength(20)
})

test.each(globSync('docs/decisions/*.md', { cwd: repository }))('%s has the sections of a decision record', (page) => {
  const text = read(page)
  expect(text).toMatch(/^Status: (proposed|accepted|superseded by .+), \d{4}-\d{2}-\d{2}$/m)
  const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
  expect(headings).toEqual(['Context', 'Decision', 'Alternatives', 'Consequences'])
})
