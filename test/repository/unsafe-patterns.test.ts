import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { analyse } from 'scslre'
import { parseSync, Visitor } from 'vite'
import { expect, test } from 'vitest'

// A backtracking pattern can take n² or more steps on n characters, so one long text in a request blocks the process.

const repository = join(import.meta.dirname, '../..')

/** Patterns that the analysis reports although they are fast, or that no external text reaches, each with the reason. */
const allowed: Record<string, string> = {
  'apps/control-plane/http/openapi-examples.ts: new RegExp(pattern)':
    'the pattern is in one of our schemas, which this test checks',
  'libs/core/schemas.ts: new RegExp(`^[^${characters}]*$`)': 'It is one class of characters, whichever these are.',
  'libs/fleet/config-profiles/secret-names.ts: /\\p{Lu}{2,}s(?!\\p{L})|\\p{Lu}+(?!\\p{Ll})|\\p{Lu}?[\\p{Ll}\\p{Lo}\\p{M}]+/gu':
    'The second alternative matches a whole run of capitals that the first one rejects, so it is read at most twice.',
}

type Pattern = { path: string; line: number; raw: string; source?: string; flags?: string }

/** Returns the patterns in a TypeScript source. `source` is missing if the pattern is created at run time. */
function patternsOf(path: string, text: string): Pattern[] {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  const found: Pattern[] = []
  const add = (node: { start: number; end: number }, pattern: { source?: string; flags?: string }) => {
    const line = text.slice(0, node.start).split('\n').length
    found.push({ path, line, raw: text.slice(node.start, node.end), ...pattern })
  }
  const addIfMade = (node: { start: number; end: number; callee: { type: string } }) => {
    if (node.callee.type === 'Identifier' && 'name' in node.callee && node.callee.name === 'RegExp') add(node, {})
  }
  new Visitor({
    Literal(node) {
      if ('regex' in node && node.regex) add(node, { source: node.regex.pattern, flags: node.regex.flags })
    },
    NewExpression: addIfMade,
    CallExpression: addIfMade,
  }).visit(program)
  return found
}

/** Returns the problem of a pattern; undefined if it takes linear time. */
function problemOf({ source, flags }: Pattern): string | undefined {
  if (source === undefined) return 'is created at run time and cannot be checked'
  const { reports } = analyse(new RegExp(source, flags))
  if (reports.length === 0) return undefined
  return reports.some(({ exponential }) => exponential) ? 'can take exponential time' : 'can take quadratic time'
}

const offencesOf = (patterns: readonly Pattern[]): string[] =>
  patterns.flatMap((pattern) => {
    const problem = problemOf(pattern)
    return problem ? [`${pattern.path}:${pattern.line}: ${pattern.raw} ${problem}`] : []
  })

const sources = globSync(['apps/**/*.{ts,tsx,mjs}', 'libs/**/*.ts'], {
  cwd: repository,
  exclude: ['**/node_modules/**', '**/dist/**', '**/*.test.ts', '**/*.bench.ts'],
})
const patterns = sources.flatMap((path) => patternsOf(path, readFileSync(join(repository, path), 'utf8')))
const nameOf = ({ path, raw }: Pattern) => `${path}: ${raw}`

test('every pattern takes linear time', () => {
  expect(patterns.length).toBeGreaterThan(60)
  expect(offencesOf(patterns.filter((pattern) => !(nameOf(pattern) in allowed)))).toEqual([])
})

test('every exception is in the source and necessary', () => {
  const needed = patterns.filter((pattern) => problemOf(pattern)).map(nameOf)
  expect(Object.keys(allowed).filter((name) => !needed.includes(name))).toEqual([])
})

test.each([
  ['/\\d+(?:\\.\\d+)?\\s*(?:ghz|g)(?!\\p{L})/giu', 'can take quadratic time'],
  ['/^(\\d+\\.?\\d*|\\.\\d+)$/', 'can take quadratic time'],
  ['/^(a+)+$/', 'can take exponential time'],
  ['new RegExp(text)', 'is created at run time and cannot be checked'],
  ['/^[a-z]{1,9}$/', undefined],
])('%s %s', (raw, problem) => {
  const offences = offencesOf(patternsOf('sample.ts', `const text: string = ''\nconst pattern = ${raw}`))
  expect(offences).toEqual(problem ? [`sample.ts:2: ${raw} ${problem}`] : [])
})
