import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const repository = join(import.meta.dirname, '../..')

/** A TypeScript source. `path` is relative to the repository. `owner` is its app or library. */
export type Source = { path: string; text: string; layer: string; owner: string }

/** Returns the sources that match the patterns, without build output and packages. */
export const readSources = (patterns: readonly string[]): Source[] =>
  globSync(patterns, { cwd: repository, exclude: ['**/node_modules/**', '**/dist/**'] }).map((path) => ({
    path,
    text: readFileSync(join(repository, path), 'utf8'),
    ...ownerOf(path),
  }))

export function ownerOf(path: string): { layer: string; owner: string } {
  const [layer = '', owner = ''] = path.split('/')
  return { layer, owner }
}

/** Returns the modules that a source imports, types included. Relative ones are paths from the repository's root. */
export function importsOf({ path, text }: Pick<Source, 'path' | 'text'>): string[] {
  const named = text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)
  return [...named].map(([, name = '']) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name))
}

type Aliases = Record<string, string>
const { imports: aliases } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { imports: Aliases }

/** Returns the path of an imported module, with `#alias/*` resolved as package.json says. */
function resolved(name: string): string {
  const [, alias = '', rest = ''] = /^(#[^/]+\/)(.*)$/.exec(name) ?? []
  return normalize((aliases[`${alias}*`] ?? name).replace('*', rest))
}

/** Returns import cycles, each as the files along it with the first one repeated. Finds at least one if there is any. */
export function findCycles(sources: readonly Pick<Source, 'path' | 'text'>[]): string[][] {
  const edges = new Map(sources.map((source) => [source.path, importsOf(source).map(resolved)]))
  const done = new Set<string>()
  const cycles: string[][] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) return void cycles.push([...trail.slice(trail.indexOf(path)), path])
    if (done.has(path)) return
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path])
    done.add(path)
  }
  for (const path of edges.keys()) visit(path, [])
  return cycles
}
