import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adapters } from '#adapters/adapters'
import type { MakerTable } from '#adapters/mapping'
import { deviceTable, interfaceTable, modemTable } from '#adapters/openwisp/table'
import { recordTable } from '#adapters/teltonika/table'

const page = readFileSync(join(import.meta.dirname, '../../docs/adapters.md'), 'utf8')

const cell = (text: string) => text.replaceAll('|', '\\|')

/** Returns a mapping table as it stands in the documentation. */
function markdownOf({ title, at, source, noValue, mappings }: MakerTable): string {
  const markers = noValue.map((marker) => `\`${marker === '' ? '(empty)' : marker}\``).join(', ')
  const prefix = at === '' ? '' : `${at}[].`
  const rows = mappings.map(({ from, to, as }) => {
    const fields = to.map((field) => `\`${field}\``).join(', ')
    return `| \`${prefix}${from}\` | ${fields} | ${cell(as.description)} |`
  })
  const head = ['| member | field | conversion |', '|---|---|---|']
  return [`**${title}**`, '', `Source: ${source}. No value: ${markers}.`, '', ...head, ...rows].join('\n')
}

test.each([deviceTable, modemTable, interfaceTable, recordTable])(
  'docs/adapters.md has the table "$title" of the source',
  (table) => {
    expect(page).toContain(markdownOf(table))
  },
)

test.each(adapters)('docs/adapters.md documents $path', ({ path }) => {
  expect(page).toContain(`\`POST ${path}\``)
})
