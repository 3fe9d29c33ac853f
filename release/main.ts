import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildImage, buildWheel, findEngine, packClient, writeSums } from './artifacts.ts'
import { problemsOf } from './checks.ts'
import { keptFile, keptForm } from './contract.ts'
import { notesOf } from './notes.ts'
import { setVersion, versionsIn } from './versions.ts'

const usage = `npm run release -- [options] [-- options of the image build]

  --version VERSION  the version that the repository must have
  --engine PROGRAM   the program that builds the image; by default docker, podman or buildah
  --skip-image       build no image
  --set VERSION      write a new version and the document of the API to the repository, and build nothing`

const repository = join(import.meta.dirname, '..')

async function main(args: string[]): Promise<number> {
  const end = args.indexOf('--')
  const { values } = parseArgs({
    args: end < 0 ? args : args.slice(0, end),
    options: {
      version: { type: 'string' },
      engine: { type: 'string' },
      'skip-image': { type: 'boolean', default: false },
      set: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(usage)
    return 0
  }
  if (values.set !== undefined) return prepare(values.set)
  const version = values.version ?? versionsIn(repository)[0]?.version ?? ''
  const problems = problemsOf(repository, version, await presentContract())
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) return 1
  const engine = values['skip-image'] ? undefined : (values.engine ?? findEngine())
  if (!values['skip-image'] && engine === undefined) {
    console.error('No docker, podman or buildah is on the PATH. Use --skip-image to release without the image.')
    return 1
  }
  build(version, engine, end < 0 ? [] : args.slice(end + 1))
  return 0
}

/** The present document of the API in the form that is kept. It has the version of package.json when it is loaded. */
async function presentContract(): Promise<string> {
  const { document } = await import('../clients/typescript/document.ts')
  return keptForm(document)
}

async function prepare(version: string): Promise<number> {
  if (!/^\d+\.\d+\.\d+$/.test(version))
    throw new Error(`A version has three numbers, such as 1.2.3, and not ${version}.`)
  setVersion(repository, version)
  writeFileSync(join(repository, keptFile), await presentContract())
  console.log(`The repository has version ${version}. Add it to CHANGELOG.md, and commit.`)
  return 0
}

function build(version: string, engine: string | undefined, imageOptions: readonly string[]): void {
  const folder = join(repository, 'dist', version)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const parts = { repository, folder, version }
  packClient(parts)
  if (!buildWheel(parts)) console.log('No wheel: there is no clients/python.')
  if (engine === undefined) console.log('No image: --skip-image.')
  else buildImage(parts, engine, imageOptions)
  const notes = notesOf(readFileSync(join(repository, 'CHANGELOG.md'), 'utf8'), version) ?? ''
  writeFileSync(join(folder, 'RELEASE_NOTES.md'), notes)
  writeSums(folder)
  console.log(`Version ${version} is in dist/${version}: ${readdirSync(folder).join(', ')}`)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
