import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const repository = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const readme = read('README.md')

// The agent's settings are options as well and have a page of their own.
const configurations = globSync('apps/*/config.ts', { cwd: repository, exclude: ['apps/router-agent/**'] })

test.each(configurations)('every variable of %s has a line in the documentation', (path) => {
  const variables = [...read(path).matchAll(/^\s+([A-Z][A-Z0-9_]+):/gm)].map(([, name = '']) => name)
  expect(variables.length).toBeGreaterThan(0)
  expect(variables.filter((name) => !readme.includes(`\`${name}\``))).toEqual([])
})

test('the README names every folder of apps and libs, and no other', () => {
  const named = [...readme.matchAll(/^((?:apps|libs)\/[\w-]+) {2,}/gm)].map(([, folder]) => folder)
  expect(named.toSorted()).toEqual(globSync(['apps/*', 'libs/*'], { cwd: repository }).toSorted())
})

test('links of the README lead somewhere', () => {
  const links = [...readme.matchAll(/\]\(([^)#]+)\)/g)].map(([, link = '']) => link)
  expect(
    links.filter((link) => !link.startsWith('http')).filter((link) => globSync(link, { cwd: repository }).length === 0),
  ).toEqual([])
})
