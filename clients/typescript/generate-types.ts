import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { document, header } from './document.ts'

// Writes `src/openapi.ts`, or the file that is the argument. The generator needs an older TypeScript than the one that
// checks this repository, so npx installs both apart from it.
const packages = ['openapi-typescript@7.13.0', 'typescript@5.9.3']

const target = process.argv[2] ?? join(import.meta.dirname, 'src/openapi.ts')
const folder = mkdtempSync(join(tmpdir(), 'routerfleet-types-'))
try {
  const source = join(folder, 'openapi.json')
  const generated = join(folder, 'openapi.ts')
  writeFileSync(
    source,
    JSON.stringify(document, (_key, value) => tupleForm(value)),
  )
  const options = packages.map((name) => `--package=${name}`)
  // Away from the repository, so that npx does not take its packages.
  // A request may leave out what has a default.
  const flags = ['--default-non-nullable=false', '--output', generated]
  execFileSync('npx', ['--yes', ...options, 'openapi-typescript', source, ...flags], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  writeFileSync(target, header + readFileSync(generated, 'utf8'))
} finally {
  rmSync(folder, { recursive: true })
}

/**
 * A fixed number of numbers, such as a position, in the form from which the generator makes a tuple. For a tuple that can be
 * longer, one with another entry.
 */
function tupleForm(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return schema
  const { prefixItems, items, minItems, maxItems } = schema as Items
  if (prefixItems) {
    const isOpen = items && Object.keys(items).length > 0
    return isOpen
      ? { anyOf: [[], [items]].map((more) => ({ type: 'array', prefixItems: [...prefixItems, ...more] })) }
      : schema
  }
  if (items?.type !== 'number' || minItems === undefined || minItems !== maxItems) return schema
  return { ...schema, prefixItems: Array.from({ length: minItems }, () => items) }
}

type Items = { prefixItems?: unknown[]; items?: { type?: string }; minItems?: number; maxItems?: number }
