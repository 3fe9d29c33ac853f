import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { header } from '../document.ts'

test('the generated types belong to the present OpenAPI document', async () => {
  const generated = await readFile(join(import.meta.dirname, '../src/openapi.ts'), 'utf8')
  const [firstLine] = generated.split('\n')
  expect(firstLine, 'Run `npm run generate` in clients/typescript.').toBe(header.trim())
})
