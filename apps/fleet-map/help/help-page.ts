import { Marked, type Tokens } from 'marked'

/** A page of docs/ as the help shows it. `html` is without the title. */
export type HelpPage = { title: string; html: string }

/** The titles of pages by their names. */
export type HelpTitles = ReadonlyMap<string, string>

/** Returns a Markdown page as HTML. `pages` are those that links can lead to; other files are not in the product. */
export function helpPage(name: string, markdown: string, pages: HelpTitles): HelpPage {
  let title = name
  const marked = new Marked()
  marked.use({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        if (depth === 1) {
          title = text
          return ''
        }
        return `<h${depth} id="help-${slugOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const inline = this.parser.parseInline(tokens)
        // The name of a file means nothing to readers of the page.
        const text = pages.get(inline.replace(/\.md$/, '')) ?? inline
        const address = addressOf(href, name, pages)
        if (address === undefined) return text
        const elsewhere = address.startsWith('#') ? '' : ' target="_blank" rel="noreferrer"'
        return `<a href="${address}"${elsewhere}>${text}</a>`
      },
      table({ header, rows }: Tokens.Table) {
        const cells = (tag: string, row: readonly Tokens.TableCell[]) =>
          `<tr>${row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
        const body = rows.map((row) => cells('td', row)).join('')
        return `<div class="card table-frame" tabindex="0"><table class="table"><thead>${cells('th', header)}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  const html = marked.parse(markdown, { async: false })
  return { title, html }
}

/** The anchor that GitHub gives to a heading. */
const slugOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\s-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')

/** The address of a link in the product; undefined if its target is only in the repository. */
function addressOf(href: string, name: string, pages: HelpTitles): string | undefined {
  if (/^https?:/.test(href)) return href.replaceAll('"', '%22')
  const [file = '', anchor = ''] = href.split('#')
  const page = file === '' ? name : file.replace(/\.md$/, '')
  if (!pages.has(page)) return undefined
  return `#/help?page=${page}${anchor ? `&amp;at=${anchor}` : ''}`
}
