import { basename, dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { readSources } from './import-graph.ts'

const page = 'apps/fleet-map/src'
const modules = readSources([`${page}/**/*.module.css`])
const scripts = readSources([`${page}/**/*.{ts,tsx}`])

/** The style sheet that a script imports as `css`. */
const sheetOf = ({ path, text }: { path: string; text: string }): string | undefined => {
  const name = /^import css from '(\.[^']+)'/m.exec(text)?.[1]
  return name && normalize(join(dirname(path), name))
}

const camelCase = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The classes that a module defines. Those in `:global()` belong to the shared styles. */
function classesIn(text: string): string[] {
  const selectors = text.replaceAll(/\/\*[\s\S]*?\*\/|\{[^{}]*\}|:global\([^)]*\)/g, ' ')
  return [...new Set([...selectors.matchAll(/\.([A-Za-z][\w-]*)/g)].map(([, name = '']) => camelCase(name)))]
}

test('the check reads the style sheets of the page', () => {
  expect(modules.length).toBeGreaterThan(10)
})

test('a view imports only the style sheet of its own room', () => {
  const strays = scripts.flatMap(({ path, text }) =>
    [...text.matchAll(/from '([^']+\.module\.css)'/g)].flatMap(([, name = '']) =>
      name === `./${basename(name)}` ? [] : [`${path} imports ${name}`],
    ),
  )
  expect(strays).toEqual([])
})

test('only the first module of the page imports shared styles', () => {
  const importers = scripts.filter(({ text }) => /^import '[^']*styles\/[^']+\.css'/m.test(text))
  expect(importers.map(({ path }) => basename(path)).sort()).toEqual(['api-reference.ts', 'main.tsx'])
})

test.each(modules.map((sheet) => [sheet.path, sheet.text] as const))(
  '%s defines the classes that its room uses, and no others',
  (path, text) => {
    const users = scripts.filter((script) => sheetOf(script) === path)
    const named = new Set(
      users.flatMap((script) => [...script.text.matchAll(/\bcss\.(\w+)/g)].map(([, name = '']) => name)),
    )
    const computed = users.some((script) => /\bcss\[/.test(script.text))
    const defined = classesIn(text)
    expect([...named].filter((name) => !defined.includes(name))).toEqual([])
    const words = new Set(users.flatMap((script) => script.text.match(/\w+/g) ?? []))
    expect(defined.filter((name) => !named.has(name) && !(computed && words.has(name)))).toEqual([])
  },
)

test('a selector of a room contains a class of the room', () => {
  const foreign = modules.flatMap(({ path, text }) =>
    [...text.replaceAll(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{}]+)\{/g)].flatMap(([, selectors = '']) =>
      /^\s*(@|to\b|from\b)/.test(selectors) || classesIn(`${selectors}{}`).length > 0
        ? []
        : [`${path}: ${selectors.trim()}`],
    ),
  )
  expect(foreign).toEqual([])
})
