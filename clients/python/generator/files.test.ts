import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { document } from '../../typescript/document.ts'
import { generatedFiles } from './files.ts'
import { snakeCase } from './layout.ts'

const read = (path: string) => readFile(join(import.meta.dirname, '..', path), 'utf8')
const files = generatedFiles()

test.each(Object.keys(files))('%s belongs to the present OpenAPI document', async (name) => {
  const written = await read(join('src/routerfleet', name))
  expect(written === files[name], 'Run `npm run generate` in clients/typescript.').toBe(true)
})

test('every operation is a method, except redirects of browsers', () => {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const missing = (file: string) =>
    operations
      .map(({ operationId }) => operationId as string)
      .filter((id) => !files[file]?.includes(`def ${snakeCase(id)}(`))
  const redirects = ['startOidcSignIn', 'finishOidcSignIn', 'startOidcSignOut']
  expect(missing('_operations.py')).toEqual(redirects)
  expect(missing('_async_operations.py')).toEqual(redirects)
})

test('the package has the licence of the repository', async () => {
  expect(await read('LICENSE')).toBe(await read('../../LICENSE'))
})
