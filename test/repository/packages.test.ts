import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'

type LockedPackage = { optionalDependencies?: Record<string, string> }

test('the lock file has the optional packages of all platforms, which npm ci asks for', async () => {
  const { packages } = JSON.parse(await readFile('package-lock.json', 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  const isLocked = (owner: string, name: string): boolean =>
    `${owner && `${owner}/`}node_modules/${name}` in packages || (owner !== '' && isLocked(outerOf(owner), name))
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !isLocked(path, name)),
  )
  expect(missing).toEqual([])
})

/** The package whose folder contains this one: of "node_modules/a/node_modules/b" it is "node_modules/a". */
const outerOf = (path: string) => path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1))
