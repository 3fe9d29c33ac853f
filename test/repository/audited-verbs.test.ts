import { parseSync } from 'vite'
import { describe, expect, test } from 'vitest'
import { readSources } from './import-graph.ts'

type Text = { path: string; text: string }

/** Functions of `libs/fleet` that run a verb which changes something. */
const changing = new Set(['createObject', 'changeObject', 'changeDevice'])
const isAudit = (name: string) => /^audit[A-Z]|^recordAudit$/.test(name)

/** The functions of a module by name: whether it exports them, and the names that their text has. */
function functionsOf({ path, text }: Text): Map<string, { isExported: boolean; names: Set<string> }> {
  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  const found = new Map<string, { isExported: boolean; names: Set<string> }>()
  for (const statement of program.body) {
    const isExported = statement.type === 'ExportNamedDeclaration'
    const declared = isExported ? statement.declaration : statement
    const named =
      declared?.type === 'FunctionDeclaration'
        ? [{ name: declared.id?.name, start: declared.start, end: declared.end }]
        : declared?.type === 'VariableDeclaration'
          ? declared.declarations.map(({ id, start, end }) => ({
              ...{ name: id.type === 'Identifier' ? id.name : undefined, start, end },
            }))
          : []
    for (const { name, start, end } of named) {
      if (name) found.set(name, { isExported, names: new Set(text.slice(start, end).match(/[A-Za-z_$][\w$]*/g)) })
    }
  }
  return found
}

/** Returns the exported verbs of a module that change something and record nothing. */
function unrecordedVerbs(module: Text): string[] {
  const functions = functionsOf(module)
  const reaches = (name: string, wanted: (name: string) => boolean, seen = new Set<string>()): boolean => {
    if (seen.has(name)) return false
    seen.add(name)
    const names = [...(functions.get(name)?.names ?? [])]
    return names.some((used) => wanted(used) || reaches(used, wanted, seen))
  }
  return [...functions].flatMap(([name, { isExported }]) =>
    isExported && !changing.has(name) && reaches(name, (used) => changing.has(used)) && !reaches(name, isAudit)
      ? [`${module.path}: ${name}`]
      : [],
  )
}

test('each verb that changes something records it in the audit log', () => {
  const modules = readSources(['libs/**/*.ts']).filter(({ path }) => !/\.(test|bench)\.ts$/.test(path))
  expect(modules.flatMap(unrecordedVerbs)).toEqual([])
})

describe('the check finds', () => {
  const module = (text: string): Text => ({ path: 'libs/noun/change.ts', text })

  test('a verb without an audit row, also behind a function of its module', () => {
    const text = `
      const changing = (ctx, work) => changeObject(ctx, {}, work)
      export const rename = (ctx) => changing(ctx, (connection) => connection.query('UPDATE noun'))
      export function remove(ctx) { return changing(ctx, (connection) => auditObject(ctx, connection, 'noun.deleted')) }`
    expect(unrecordedVerbs(module(text))).toEqual(['libs/noun/change.ts: rename'])
  })

  test('nothing in a verb that only reads', () => {
    expect(unrecordedVerbs(module('export const read = (ctx) => withObject(ctx, {}, work)'))).toEqual([])
  })
})
