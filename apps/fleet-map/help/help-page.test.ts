import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { helpPages } from '../src/views/help/help-list.ts'
import { helpPage } from './help-page.ts'

const docs = join(import.meta.dirname, '../../../docs')
const titles = new Map(helpPages)
const names = [...titles.keys()]
const read = async (name: string) => helpPage(name, await readFile(join(docs, `${name}.md`), 'utf8'), titles)

test('takes the title from the first heading, and gives the others an anchor', () => {
  const { title, html } = helpPage('jobs', '# Jobs\n\n## Wait for a good moment\n\nText.', titles)
  expect(title).toBe('Jobs')
  expect(html).toBe('<h2 id="help-wait-for-a-good-moment">Wait for a good moment</h2>\n<p>Text.</p>\n')
})

test.each([
  ['[a](alerts.md#chat)', '<a href="#/help?page=alerts&amp;at=chat">a</a>'],
  ['[alerts.md](alerts.md)', '<a href="#/help?page=alerts">Alerts and places</a>'],
  ['[a](#stages)', '<a href="#/help?page=jobs&amp;at=stages">a</a>'],
  ['[a](https://example.com/)', '<a href="https://example.com/" target="_blank" rel="noreferrer">a</a>'],
  ['[a](../CHANGELOG.md)', 'a'],
])('turns the link %s into an address of the product', (markdown, html) => {
  expect(helpPage('jobs', markdown, titles).html).toBe(`<p>${html}</p>\n`)
})

test('every listed page exists, and every anchor that another page links to', async () => {
  const files = (await readdir(docs)).map((file) => file.replace(/\.md$/, ''))
  expect(names.filter((name) => !files.includes(name))).toEqual([])
  const pages = new Map(await Promise.all(names.map(async (name) => [name, await read(name)] as const)))
  const broken = [...pages].flatMap(([from, { html }]) =>
    [...html.matchAll(/href="#\/help\?page=([\w-]+)&amp;at=([^"]+)"/g)].flatMap(([, page = '', at = '']) =>
      pages.get(page)?.html.includes(`id="help-${at}"`) ? [] : `${from} → ${page}#${at}`,
    ),
  )
  expect(broken).toEqual([])
})
