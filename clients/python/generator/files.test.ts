import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generatedFiles } from './files.ts'

const read = (path: string) => readFile(join(import.meta.dirname, '..', path), 'utf8')
const files = generatedFiles()

test.each(Object.keys(files))('%s belongs to the present OpenAPI document', async (name) => {
  const written = await read(join('src/routerfleet', name))
  expect(written === files[name], 'Run `npm run generate` in clients/typescript.').toBe(true)
})

test('the package has the licence of the repository', async () => {
  expect(await read('LICENSE')).toBe(await read('../../LICENSE'))
})
