import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const repository = join(import.meta.dirname, '../..')

test('a test that cannot run says why: it calls context.skip with a reason', () => {
  const withoutReason = /\b(test|it|describe)(\.\w+)*\.(skip|skipIf|runIf|todo)\b|\bskip\(\)/
  const files = globSync(['{apps,clients,libs,test}/**/*.test.ts'], {
    cwd: repository,
    exclude: ['**/node_modules/**', 'test/repository/skips.test.ts'],
  })
  expect(files.length).toBeGreaterThan(300)
  expect(files.filter((file) => withoutReason.test(readFileSync(join(repository, file), 'utf8')))).toEqual([])
})
