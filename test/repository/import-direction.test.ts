import { describe, expect, test } from 'vitest'
import { findCycles, importsOf, ownerOf, readSources, type Source } from './import-graph.ts'

/** The libraries that each library may import. Apps may import all libraries but no other app. */
const mayImport: Record<string, readonly string[]> = {
  adapters: ['core', 'http', 'telemetry'],
  core: [],
  files: [],
  telemetry: ['core'],
  'telemetry-log': ['core', 'files', 'telemetry'],
  questdb: ['core', 'telemetry'],
  postgres: ['core'],
  fleet: ['core', 'postgres'],
  'device-edge': ['core', 'fleet'],
  messages: ['core', 'postgres', 'fleet'],
  people: ['core', 'postgres', 'fleet', 'messages'],
  alerts: ['core', 'questdb', 'postgres', 'fleet', 'messages'],
  'fleet-map': ['core', 'http', 'telemetry', 'questdb', 'postgres', 'fleet'],
  reads: ['core', 'telemetry', 'questdb', 'postgres', 'fleet', 'alerts', 'fleet-map'],
  redis: ['core'],
  queue: ['core', 'redis', 'postgres', 'fleet'],
  http: ['core', 'redis'],
  'telemetry-writer': ['core', 'files', 'http', 'telemetry', 'telemetry-log', 'questdb', 'postgres', 'fleet'],
}

/** The rooms of a library that each of its rooms may import; '' is its own folder. A room imports only rooms below it. */
const roomsMayImport: Record<string, Record<string, readonly string[]>> = {
  telemetry: {
    geo: [],
    report: [],
    rows: ['report'],
    position: ['geo', 'report'],
    coverage: ['geo', 'report'],
    'radio-health': [],
    'sim-advice': [],
  },
  'telemetry-log': {
    '': [],
    lock: [''],
    checkpoints: [''],
    'dead-letters': [''],
    segments: ['', 'lock', 'checkpoints', 'dead-letters'],
    kafka: ['', 'checkpoints'],
  },
  questdb: {
    server: [],
    copies: ['server'],
    schema: ['server'],
    votes: ['server'],
    fleet: ['server', 'copies'],
    device: ['server'],
    writer: ['server'],
  },
  'fleet-map': {
    '': [],
    live: [''],
    places: [''],
    views: [],
    towns: [],
    selection: ['', 'live'],
    'device-list': ['', 'live', 'selection', 'towns'],
    'sim-advice': [''],
    'radio-health': ['', 'sim-advice'],
    coverage: ['', 'places', 'towns'],
    dwells: ['', 'live', 'places', 'towns'],
    gps: ['', 'live', 'places', 'selection', 'coverage', 'dwells'],
    streams: ['', 'gps'],
    tiles: ['', 'live', 'selection', 'coverage', 'dwells'],
    features: ['', 'live', 'selection', 'coverage', 'dwells', 'gps', 'towns'],
  },
  'telemetry-writer': {
    store: [],
    tracks: [],
    recovery: ['tracks'],
    states: ['tracks', 'recovery'],
    reports: ['store', 'tracks', 'states'],
    realign: ['store', 'tracks', 'states', 'reports'],
    'dead-letters': [],
    '': ['store', 'tracks', 'recovery', 'states', 'reports', 'realign', 'dead-letters'],
  },
}

/** The same of apps. */
const appRoomsMayImport: typeof roomsMayImport = {
  ingest: {
    http: [],
    access: ['http'],
    jobs: ['http', 'access'],
    report: ['http', 'access', 'jobs'],
    writer: ['report'],
    '': ['http', 'access', 'jobs', 'report', 'writer'],
  },
}

const inputOutput = /^node:(fs|net|http|https|http2|dgram|child_process|worker_threads|dns|tls)(\/|$)/
const clockOrRandomness = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bperformance\.now\(|\brandomBytes\(/

const isTest = (path: string) => /\.(test|bench)\.tsx?$/.test(path)

const sources = readSources(['apps/**/*.{ts,tsx}', 'libs/**/*.ts'])
const production = sources.filter(({ path }) => !isTest(path))

/** Returns the imports of `from` for which `forbidden` returns a reason, as `file imports module: reason`. */
function offences(from: readonly Source[], forbidden: (imported: string, source: Source) => string | false) {
  return from.flatMap((source) =>
    importsOf(source).flatMap((imported) => {
      const reason = forbidden(imported, source)
      return reason ? [`${source.path} imports ${imported}: ${reason}`] : []
    }),
  )
}

test('the check reads the sources and their imports', () => {
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

/** The room of a module: `votes` for `libs/questdb/votes/coverage.ts` and `#questdb/votes/coverage`. */
const roomOf = (path: string): string => path.replace(/^(?:#|libs\/|apps\/)[^/]+\//, '').match(/^(.*)\//)?.[1] ?? ''

describe.each([
  ['libs', roomsMayImport],
  ['apps', appRoomsMayImport],
])('rooms inside %s', (folder, owners) => {
  test.each(Object.entries(owners))('%s', (name, rooms) => {
    const modules = production.filter(({ layer, owner }) => layer === folder && owner === name)
    expect([...new Set(modules.map(({ path }) => roomOf(path)))].sort()).toEqual(Object.keys(rooms).sort())
    const upward = offences(modules, (imported, { path }) => {
      const isOwn = imported.startsWith(`#${name}/`) || imported.startsWith(`${folder}/${name}/`)
      const [from, to] = [roomOf(path), roomOf(imported)]
      return isOwn && from !== to && !rooms[from]?.includes(to) && `${from || name} may not import ${to || name}`
    })
    expect(upward).toEqual([])
  })
})

test('every library is listed with its permitted imports', () => {
  const owners = new Set(sources.filter(({ layer }) => layer === 'libs').map(({ owner }) => owner))
  expect([...owners].filter((owner) => !(owner in mayImport))).toEqual([])
})

test('production code does not import test code', () => {
  const testing = offences(
    production,
    (imported) => /^(#test\/|vitest$|fast-check$)/.test(imported) && 'belongs to tests',
  )
  expect(testing).toEqual([])
})

test('the telemetry core has no I/O, no clock and no randomness', () => {
  const core = production.filter(({ layer, owner }) => layer === 'libs' && owner === 'telemetry')
  expect(offences(core, (imported) => inputOutput.test(imported) && 'the core is pure')).toEqual([])
  expect(core.filter(({ text }) => clockOrRandomness.test(text)).map(({ path }) => path)).toEqual([])
})

test('only the configuration of an app reads the environment', () => {
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

test('no import cycles, type imports included', () => {
  const all = [...sources, ...readSources(['apps/**/*.mjs', '{bench,clients,docker,test}/**/*.{ts,tsx,mjs}'])]
  expect(findCycles(all).map((cycle) => cycle.join(' → '))).toEqual([])
})

test('a cycle through an alias and a relative path is found', () => {
  const cycle = findCycles([
    { path: 'libs/core/a.ts', text: "import type { B } from '#core/b'" },
    { path: 'libs/core/b.ts', text: "import { c } from './c.ts'" },
    { path: 'libs/core/c.ts', text: "export const load = () => import('#core/a')" },
  ])
  expect(cycle).toEqual([['libs/core/a.ts', 'libs/core/b.ts', 'libs/core/c.ts', 'libs/core/a.ts']])
})
