// The entry point of `npm start` and `npm test`. It has no dependencies and runs on Node 20, because it installs the
// packages, including the Node version of the product, and builds the page and the map of the world.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPackages } from './install-packages.mjs'
import { runProgram } from './run-program.mjs'

const repository = join(dirname(fileURLToPath(import.meta.url)), '../..')
const projectNode = join(repository, 'node_modules/node/bin/node')
const run = (command, args, options) => runProgram(command, args, { cwd: repository, ...options })

/** Returns the time of the newest change in a folder in epoch milliseconds; 0 if the folder does not exist. */
function newestChangeMs(folder) {
  if (!existsSync(folder)) return 0
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Math.max(
    0,
    ...entries.filter((entry) => entry.isFile()).map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs),
  )
}

async function buildPage() {
  const page = join(repository, 'apps/fleet-map')
  if (!existsSync(join(page, 'index.html'))) return
  const folders = ['src', 'public', 'help', '../../docs', '../../libs/telemetry', '../../clients/typescript/src']
  const sources = folders.map((name) => newestChangeMs(join(page, name)))
  // The page shows the version of package.json.
  const files = ['index.html', 'docs.html', 'vite.config.ts', 'atlas.ts', '../../package.json'].map(
    (name) => statSync(join(page, name)).mtimeMs,
  )
  const built = join(page, 'dist/index.html')
  if (existsSync(built) && statSync(built).mtimeMs > Math.max(...sources, ...files)) return
  console.log('Building the fleet map page …')
  const code = await run(projectNode, [
    'node_modules/vite/bin/vite.js',
    'build',
    'apps/fleet-map',
    '--logLevel',
    'warn',
  ])
  if (code !== 0) console.error('The fleet map page could not be built (see above). Everything else works without it.')
}

/** Builds the map of the world, which the page draws below the fleet. Does nothing if it is built. */
async function buildWorldMap() {
  const program = 'apps/world-map/main.ts'
  if (!existsSync(join(repository, program))) return
  // A small heap, because the machine of a start may have little memory.
  const args = ['--max-old-space-size=400', '--max-semi-space-size=8', program]
  const code = await run(projectNode, args)
  if (code !== 0) console.error('The map of the world could not be built (see above). The page shows country outlines.')
}

/** A check of types. It keeps what it found in a file, because the next one then takes a tenth of the time. */
const typeCheck = (name, ...args) => [
  'node_modules/typescript/bin/tsc',
  // More checkers would check more types twice.
  ...['--noEmit', '--checkers', '2', '--incremental', '--tsBuildInfoFile', `.cache/${name}.tsbuildinfo`, ...args],
]

/** Runs all checks, also after one fails, so that one run reports all problems. */
async function runTests(args, worldMap) {
  const checks = [
    ['style', ['node_modules/@biomejs/biome/bin/biome', 'check', '.']],
    ['types', typeCheck('types')],
    ['types of the page', typeCheck('types-of-the-page', '--project', 'apps/fleet-map')],
    ['unused code', ['node_modules/knip/bin/knip.js']],
  ]
  const tests = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--project', 'engines', ...args]
  const failing = async ([name, command]) => ((await run(projectNode, command)) === 0 ? [] : [name])
  // At the same time, because most of them use one core. The tests use all.
  const failedChecks = (await Promise.all(checks.map(failing))).flat()
  await worldMap
  const failed = [...failedChecks, ...(await failing(['tests', tests]))]
  console.log(failed.length === 0 ? 'Style, types, unused code and tests: passed.' : `Failed: ${failed.join(', ')}.`)
  console.log('Not part of npm test: the page in Chromium, several processes, brokers (npm run test:cluster).')
  return failed.length === 0 ? 0 : 1
}

async function main([first, ...rest]) {
  await installPackages(repository, projectNode)
  // The service does not wait for it: until it is built, the page shows country outlines.
  const worldMap = buildWorldMap()
  await buildPage()
  if (first === '--run-tests') return runTests(rest, worldMap)
  const args = first === undefined ? [] : [first, ...rest]
  // The closing of the channel tells the supervisor that this process ended. Relative paths refer to the caller's folder.
  const options = { cwd: process.cwd(), stdio: ['inherit', 'inherit', 'inherit', 'ipc'] }
  return run(projectNode, [join(repository, 'apps/stack/main.ts'), ...args], options)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
