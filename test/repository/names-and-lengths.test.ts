import { parseSync, Visitor } from 'vite'
import { describe, expect, test } from 'vitest'
import { readSources } from './import-graph.ts'

const maxLines = 80

type Text = { path: string; text: string }
type Range = { start: number; end: number }

const isShipped = ({ path }: Text) => !/\.(test|bench|d)\.tsx?$/.test(path) && !path.includes('/generated/')
const sources = readSources(['{apps,libs,clients}/**/*.{ts,tsx}']).filter(isShipped)

function programOf({ path, text }: Text) {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  return program
}

/** The page and the client are programs of their own: they name what the API returns as the API does. */
const programNameOf = (path: string): string => /^(apps\/fleet-map|clients\/[^/]+)\//.exec(path)?.[1] ?? 'service'

/** Returns the names of the types that a module declares and exports. */
function exportedTypes(source: Text): string[] {
  return programOf(source).body.flatMap((statement) => {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : undefined
    if (declared?.type === 'TSTypeAliasDeclaration' || declared?.type === 'TSInterfaceDeclaration')
      return [declared.id.name]
    return declared?.type === 'ClassDeclaration' && declared.id ? [declared.id.name] : []
  })
}

/** Returns the type names that several modules of a program export, each with its modules. */
function repeatedTypes(modules: readonly Text[]): string[] {
  const places = new Map<string, string[]>()
  for (const module of modules)
    for (const name of exportedTypes(module)) {
      const key = `${programNameOf(module.path)}: ${name}`
      places.set(key, [...(places.get(key) ?? []), module.path])
    }
  return [...places].flatMap(([key, paths]) => (paths.length > 1 ? [`${key}: ${paths.join(', ')}`] : [])).sort()
}

/** Returns the functions of more than `maxLines` lines whose comment does not state the reason: `// Long because …`. */
function longFunctions({ path, text }: Text): string[] {
  const lines = text.split('\n')
  const found: string[] = []
  const check = ({ start, end }: Range) => {
    const first = text.slice(0, start).split('\n').length
    const length = text.slice(start, end).split('\n').length
    const above = lines.slice(0, first - 1).join('\n')
    const comment = /(?:\n[ \t]*(?:\/?\*|\/\/)[^\n]*)*$/.exec(`\n${above}`)?.[0] ?? ''
    if (length <= maxLines || /\bLong because \w/.test(comment)) return
    found.push(`${path}: ${length} lines: ${(lines[first - 1] ?? '').trim()}`)
  }
  const visitor = new Visitor({ FunctionDeclaration: check, FunctionExpression: check, ArrowFunctionExpression: check })
  visitor.visit(programOf({ path, text }))
  return found
}

test('one exported type name stands for one thing', () => {
  expect(repeatedTypes(sources)).toEqual([])
})

test(`no function has more than ${maxLines} lines without a stated reason`, () => {
  expect(sources.flatMap(longFunctions)).toEqual([])
})

describe('the checks find', () => {
  const functionOf = (lines: number) => `export function long() {\n${'  work()\n'.repeat(lines - 2)}}`

  test('a name that two modules export, but not one in two programs', () => {
    const text = 'export type Page = { items: string[] }'
    expect(
      repeatedTypes([
        { path: 'libs/a.ts', text },
        { path: 'apps/b/b.ts', text },
      ]),
    ).toEqual(['service: Page: libs/a.ts, apps/b/b.ts'])
    expect(
      repeatedTypes([
        { path: 'libs/a.ts', text },
        { path: 'apps/fleet-map/src/b.ts', text },
      ]),
    ).toEqual([])
  })

  test('a function of one line too many, unless its comment says why', () => {
    const found = (text: string) => longFunctions({ path: 'a.ts', text })
    expect(found(functionOf(maxLines))).toEqual([])
    expect(found(functionOf(maxLines + 1))).toEqual(['a.ts: 81 lines: export function long() {'])
    expect(found(`const other = 1\n${functionOf(maxLines + 1)}`)).toHaveLength(1)
    expect(found(`// Long because all parts change one map.\n${functionOf(maxLines + 1)}`)).toEqual([])
    expect(found(`/**\n * Works. Long because all parts change one map.\n */\n${functionOf(maxLines + 1)}`)).toEqual([])
  })
})
