import type { OpenApiDocument, OpenApiOperation } from './openapi.ts'

const html = (text: unknown): string =>
  String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** The only mark descriptions use: `code`. */
const inline = (text: unknown): string => html(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')

const prose = (text: string): string => `<p>${inline(text)}</p>`

const json = (value: unknown): string => `<pre>${html(JSON.stringify(value, null, 2))}</pre>`

const anchor = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')

type Entry = { method: string; path: string; operation: OpenApiOperation }

/** An OpenAPI document as one page without scripts or outside requests. */
export function renderDocs(document: OpenApiDocument): string {
  const entries: Entry[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
  const sections = document.tags.map(({ name }) => ({
    name,
    entries: entries.filter(({ operation }) => operation.tags.includes(name)),
  }))
  const { title, description } = document.info
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${html(title)} API</title><style>${style}</style></head><body>
<nav><strong>${html(title)}</strong>${sections.map(navigation).join('')}<a href="#schemas">Schemas</a></nav>
<main><h1>${html(title)} API</h1>${prose(String(description))}
<p>The same as <a href="openapi.json">OpenAPI 3.1</a>.</p>
${sections.map(({ name, entries }) => `<h2 id="${anchor(name)}">${html(name)}</h2>${entries.map(operationSection).join('')}`).join('')}
<h2 id="schemas">Schemas</h2>${Object.entries(document.components.schemas)
    .map(
      ([name, schema]) =>
        `<details id="schema-${html(name)}"><summary>${html(name)}</summary>${json(schema)}</details>`,
    )
    .join('')}
</main></body></html>`
}

const navigation = ({ name, entries }: { name: string; entries: Entry[] }): string =>
  `<a href="#${anchor(name)}">${html(name)}</a><ul>${entries
    .map(({ operation }) => `<li><a href="#${operation.operationId}">${html(operation.summary)}</a></li>`)
    .join('')}</ul>`

function operationSection({ method, path, operation }: Entry): string {
  return `<section id="${operation.operationId}"><h3><code class="${method.toLowerCase()}">${method}</code> <code>${html(path)}</code></h3>
<p>${inline(operation.summary)}. <span class="access">Access: ${html(operation['x-access'])}</span></p>
${operation.description ? prose(operation.description) : ''}
${parameterTable(operation)}${bodySection(operation)}${answerTable(operation)}</section>`
}

function parameterTable({ parameters }: OpenApiOperation): string {
  if (parameters.length === 0) return ''
  const rows = parameters.map(
    ({ name, in: place, required, schema, description }) =>
      `<tr><td><code>${html(name)}</code></td><td>${html(place)}${required ? ', required' : ''}</td><td>${shape(schema)}</td><td>${inline(description ?? '')}</td></tr>`,
  )
  return `<table><thead><tr><th>Parameter</th><th>In</th><th>Type</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

function bodySection({ requestBody }: OpenApiOperation): string {
  if (!requestBody) return ''
  const [type, media] =
    Object.entries(requestBody.content as Record<string, { schema: unknown; example?: unknown }>)[0] ?? []
  if (!media) return ''
  const example = media.example === undefined ? '' : `<p>Example</p>${json(media.example)}`
  return `<details><summary>Body: ${html(type)}</summary>${json(media.schema)}</details>${example}`
}

function answerTable({ responses }: OpenApiOperation): string {
  const rows = Object.entries(responses).map(([status, answer]) => {
    const media = Object.entries((answer.content ?? {}) as Record<string, { schema: unknown; example?: unknown }>)[0]
    const example =
      media?.[1].example === undefined ? '' : `<details><summary>Example</summary>${json(media[1].example)}</details>`
    return `<tr><td><code>${status}</code></td><td>${inline(answer.description)}${example}</td><td>${media ? shape(media[1].schema) : ''}</td></tr>`
  })
  return `<table><thead><tr><th>Answer</th><th></th><th>Body</th></tr></thead><tbody>${rows.join('')}</tbody></table>`
}

/** A schema in a few words: a link for a named one, its type, or a fold-out. */
function shape(schema: unknown): string {
  const {
    $ref,
    type,
    enum: words,
    format,
  } = (schema ?? {}) as { $ref?: string; type?: unknown; enum?: unknown[]; format?: string }
  if ($ref) {
    const name = $ref.split('/').at(-1)
    return `<a href="#schema-${html(name)}">${html(name)}</a>`
  }
  if (words) return words.map((word) => `<code>${html(word)}</code>`).join(' ')
  if (typeof type === 'string' && type !== 'object' && type !== 'array') return html(format ?? type)
  return `<details><summary>${html(type ?? 'any')}</summary>${json(schema)}</details>`
}

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{margin:0;display:grid;grid-template-columns:minmax(14rem,18rem) minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box;border-right:1px solid #8884;font-size:.85rem}
nav>a{display:block;margin-top:.8rem;font-weight:600}nav ul{margin:0;padding-left:1rem;list-style:none}
main{padding:1rem 2rem 6rem;max-width:70rem}section{border-top:1px solid #8884;padding:.5rem 0 1rem}
a{color:LinkText;text-decoration:none}a:hover{text-decoration:underline}
code,pre{font:13px/1.45 ui-monospace,monospace}code{overflow-wrap:anywhere}pre{background:#8881;padding:.75rem;overflow:auto;border-radius:6px}
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-size:.9rem}td,th{text-align:left;vertical-align:top;padding:.25rem .6rem .25rem 0;border-bottom:1px solid #8882}
.access{opacity:.75}.get{color:#07803f}.post{color:#0b62c4}.patch,.put{color:#a15c00}.delete{color:#c22}
@media(max-width:700px){body{display:block}nav{position:static;height:auto}main{padding:1rem}table{display:block;overflow-x:auto}}
@media(prefers-color-scheme:dark){.get{color:#4ec98a}.post{color:#6fb0ff}.patch,.put{color:#e8a751}.delete{color:#ff7a7a}}`
