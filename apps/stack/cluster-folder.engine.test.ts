import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fillSecondCopy, refuseClusterFolder } from './cluster-folder.ts'
import { type DataFolder, dataFolder } from './data-folder.ts'
import { createProgress } from './progress.ts'

let folder: DataFolder
beforeEach(async () => {
  folder = dataFolder(await mkdtemp(join(tmpdir(), 'routerfleet-cluster-folder-')))
})
afterEach(() => rm(folder.dir, { recursive: true }))

const progress = createProgress(() => {}, Date.now)

async function writeFirstCopy(): Promise<void> {
  await mkdir(join(folder.questdb, 'data', 'db'), { recursive: true })
  await writeFile(join(folder.questdb, 'data', 'db', 'rows'), 'rows of earlier starts')
  await writeFile(join(folder.questdb, 'pid'), '1')
}

test('the second copy of a new cluster begins with the data of the first, but not with its process id', async () => {
  await writeFirstCopy()
  await fillSecondCopy(folder, progress)
  expect(await readdir(folder.questdbB)).toEqual(['data'])
  expect(await readFile(join(folder.questdbB, 'data', 'db', 'rows'), 'utf8')).toBe('rows of earlier starts')
})

test('an existing second copy is not changed', async () => {
  await writeFirstCopy()
  await mkdir(folder.questdbB)
  await fillSecondCopy(folder, progress)
  expect(await readdir(folder.questdbB)).toEqual([])
})

test('a new folder has nothing to copy', async () => {
  await fillSecondCopy(folder, progress)
  expect(await readdir(folder.dir)).toEqual([])
})

test('a start without a cluster refuses the data of a cluster with what to do', async () => {
  refuseClusterFolder(folder)
  await mkdir(folder.questdbB)
  expect(() => refuseClusterFolder(folder)).toThrow(/is the data of a cluster.*start with --cluster/)
})
