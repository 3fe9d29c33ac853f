import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { webhookBodies } from '../../apps/control-plane/http/openapi-webhooks.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/webhooks.md'), 'utf8')

const fieldsOf = ({ body }: (typeof webhookBodies)[number]) => Object.keys(body.shape.data.shape).join(', ')

/** Returns the table of events as it stands in the documentation. */
const rows = webhookBodies.map((webhook, index) => {
  const before = webhookBodies[index - 1]
  const isSame = before !== undefined && fieldsOf(before) === fieldsOf(webhook)
  const data = isSame ? 'the same fields' : `\`${fieldsOf(webhook)}\``
  return `| \`${webhook.type}\` | ${webhook.summary} | ${data} |`
})
const table = ['| event | when | `data` |', '|---|---|---|', ...rows].join('\n')

test('docs/webhooks.md has each event with the fields of its data', () => {
  expect(page, table).toContain(table)
})
