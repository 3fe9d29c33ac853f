import { expect, test } from 'vitest'
import { versionsIn } from '../../release/versions.ts'

test('all parts of the product have the same version', () => {
  const [first, ...others] = versionsIn('.')
  expect(first?.version).toMatch(/^\d+\.\d+\.\d+$/)
  expect(others).toEqual(others.map(({ file }) => ({ file, version: first?.version })))
})
