import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adapters } from '#adapters/adapters'
import type { MakerTable } from '#adapters/mapping'
import { makerTables } from '#adapters/tables'

const page = readFileSync(join(import.meta.dirname, '../../docs/adapters.md'), 'utf8')

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Returns a mapping table as it stands in the documentation. */
function markdownOf({ title, at, isListed, source, noValue, mappings }: MakerTable): string {
  const markers = noValue.map((marker) => `\`${marker === '' ? '(empty)' : marker}\``).join(', ')
  const prefix = at === '' ? '' : `${at}${isListed ? '[]' : ''}.`
  const rows = mappings.map(({ from, to, as }) => {
    const fields = to.map((field) => `\`${field}\``).join(', ')
    return `| \`${prefix}${from}\` | ${fields} | ${cell(as.description)} |`
  })
  const head = ['| member | field | conversion |', '|---|---|---|']
  return [`**${title}**`, '', `Source: ${source}. No value: ${markers}.`, '', ...head, ...rows].join('\n')
}

test.each(makerTables)('docs/adapters.md has the table "$title" of the source', (table) => {
  expect(page).toContain(markdownOf(table))
})

test.each(adapters)('docs/adapters.md documents $path', ({ path }) => {
  expect(page).toContain(`\`POST ${path}\``)
})
