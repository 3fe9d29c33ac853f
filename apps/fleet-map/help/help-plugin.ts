import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Plugin } from 'vite'
import { helpPages } from '../src/views/help/help-list.ts'
import { helpPage } from './help-page.ts'

/** Imports of Markdown files are modules with their title and HTML. */
export function helpModules(): Plugin {
  const titles = new Map(helpPages)
  return {
    name: 'help-modules',
    enforce: 'pre',
    async load(id) {
      if (!id.endsWith('.md')) return null
      const { title, html } = helpPage(basename(id, '.md'), await readFile(id, 'utf8'), titles)
      return `export const title = ${JSON.stringify(title)}\nexport const html = ${JSON.stringify(html)}\n`
    },
  }
}
