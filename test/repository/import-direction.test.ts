import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

/** What each library may import besides itself. Apps may import every library and no other app. */
const mayImport: Record<string, readonly string[]> = {
  core: [],
  telemetry: ['core'],
  'telemetry-log': ['core', 'telemetry'],
  questdb: ['core', 'telemetry'],
  postgres: ['core'],
  fleet: ['core', 'postgres'],
  'fleet-map': ['core', 'telemetry', 'questdb', 'postgres', 'fleet'],
  queue: ['core', 'postgres', 'fleet'],
  http: ['core'],
  'telemetry-writer': ['core', 'http', 'telemetry', 'telemetry-log', 'questdb', 'fleet'],
}

const inputAndOutput = /^node:(fs|net|http|https|http2|dgram|child_process|worker_threads|dns|tls)(\/|$)/
const clockOrChance = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\brandomBytes\(/

const repository = join(import.meta.dirname, '../..')
const isTest = (path: string) => /\.(test|bench)\.tsx?$/.test(path)

const sources = globSync(['apps/**/*.{ts,tsx}', 'libs/**/*.ts'], {
  cwd: repository,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).map((path) => ({ path, text: readFileSync(join(repository, path), 'utf8'), ...ownerOf(path) }))
const production = sources.filter(({ path }) => !isTest(path))

function ownerOf(path: string): { layer: string; owner: string } {
  const [layer = '', owner = ''] = path.split('/')
  return { layer, owner }
}

/** The modules a source names, relative ones as paths from the repository's root. */
function importsOf({ path, text }: { path: string; text: string }): string[] {
  const named = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)
  return [...named].map(([, name = '']) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name))
}

/** Every import of `from` that `forbidden` gives a reason against, as `file imports module: reason`. */
function offences(
  from: typeof sources,
  forbidden: (imported: string, source: (typeof sources)[number]) => string | false,
) {
  return from.flatMap((source) =>
    importsOf(source).flatMap((imported) => {
      const reason = forbidden(imported, source)
      return reason ? [`${source.path} imports ${imported}: ${reason}`] : []
    }),
  )
}

test('there is something to check', () => {
  expect(production.length).toBeGreaterThan(50)
  expect(production.some((source) => importsOf(source).includes('#core/errors'))).toBe(true)
})

test('relative imports stay inside their app or library', () => {
  const strays = offences(production, (imported, { layer, owner }) => {
    const target = ownerOf(imported)
    const isPath = imported.startsWith('apps/') || imported.startsWith('libs/') || imported.startsWith('test/')
    return isPath && (target.layer !== layer || target.owner !== owner) && 'use the # path of a library'
  })
  expect(strays).toEqual([])
})

test('libraries import only what lies below them', () => {
  const libraries = production.filter(({ layer }) => layer === 'libs')
  const upward = offences(libraries, (imported, { owner }) => {
    const library = /^#([^/]+)\//.exec(imported)?.[1]
    const allowed = library === undefined || library === owner || mayImport[owner]?.includes(library)
    return !allowed && `${owner} may import ${mayImport[owner]?.join(', ') || 'no library'}`
  })
  expect(upward).toEqual([])
})

test('every library has its place in the order', () => {
  const owners = new Set(sources.filter(({ layer }) => layer === 'libs').map(({ owner }) => owner))
  expect([...owners].filter((owner) => !(owner in mayImport))).toEqual([])
})

test('products do not import their tests', () => {
  const testing = offences(
    production,
    (imported) => /^(#test\/|vitest$|fast-check$)/.test(imported) && 'belongs to tests',
  )
  expect(testing).toEqual([])
})

test('the telemetry core has no input or output, no clock and no chance', () => {
  const core = production.filter(({ layer, owner }) => layer === 'libs' && owner === 'telemetry')
  expect(offences(core, (imported) => inputAndOutput.test(imported) && 'the core is pure')).toEqual([])
  expect(core.filter(({ text }) => clockOrChance.test(text)).map(({ path }) => path)).toEqual([])
})

test('the environment is read by the configuration of an app, or handed whole to it by a program that starts', () => {
  const handedOver = /\b(parseConfig|read\w*)\([^;]*?\bprocess\.env\b/g
  const readers = production.filter(({ text }) => /\bprocess\.env\b/.test(text.replaceAll(handedOver, '')))
  expect(readers.map(({ path }) => path).filter((path) => !/^apps\/[^/]+\/config\.ts$/.test(path))).toEqual([])
})

test('there are no barrels and no default exports', () => {
  const bundlerConfig = /\/(vite|vitest)\.config\.ts$/
  const shipped = production.filter(({ path }) => !bundlerConfig.test(path))
  expect(shipped.filter(({ path }) => /\/index\.tsx?$/.test(path)).map(({ path }) => path)).toEqual([])
  expect(shipped.filter(({ text }) => /^export default\b/m.test(text)).map(({ path }) => path)).toEqual([])
})
