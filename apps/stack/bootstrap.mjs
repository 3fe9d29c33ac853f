// What `npm start` and `npm test` run. It has no dependencies and works on Node 20, because its work is to fetch the
// rest: the packages, among them the Node this product runs on, and the page.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = join(dirname(fileURLToPath(import.meta.url)), '../..')
const projectNode = join(repository, 'node_modules/node/bin/node')

/** Runs a program to its end, handing on the signals we get, and resolves with its exit code. */
function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: repository, stdio: 'inherit', ...options })
  const forward = (signal) => child.kill(signal)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  const orphaned = whenOrphaned(() => forward('SIGTERM'))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      for (const name of signals) process.off(name, forward)
      clearInterval(orphaned)
      resolve(signal ? 1 : (code ?? 1))
    })
  })
}

/**
 * Calls back when the npm that started us was killed, which no signal tells: our parent then is another process. (The
 * scripts in package.json say `exec`, so that there is no shell between npm and us, which would swallow signals too.)
 */
function whenOrphaned(callback) {
  if (!process.env.npm_lifecycle_event) return undefined
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    callback()
  }, 500)
  return timer
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))

/** True when every package the lock file asks of this machine is there in that version. */
function packagesAreInstalled() {
  const installedFile = join(repository, 'node_modules/.package-lock.json')
  if (!existsSync(installedFile) || !existsSync(projectNode)) return false
  const installed = readJson(installedFile).packages
  const wanted = Object.entries(readJson(join(repository, 'package-lock.json')).packages)
  return wanted.every(([path, entry]) => {
    const absentByRight = path === '' || (entry.optional && !installed[path])
    return absentByRight || installed[path]?.version === entry.version
  })
}

async function installPackages() {
  if (packagesAreInstalled()) return
  console.log('Installing packages (first time, or the lock file changed) …')
  // The npm that runs us, on the Node that runs it: the one in node_modules is about to be replaced.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  // Not `ci`: it refuses a lock file that leaves out packages of platforms other than the one it was written on.
  const args = ['install', '--no-save', '--no-audit', '--no-fund']
  const code = npm && node ? await run(node, [npm, ...args]) : await run('npm', args)
  if (code !== 0) throw new Error('The packages could not be installed: see the messages of npm above.')
}

/** The newest change below a folder, in milliseconds; 0 when it does not exist. */
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
  const sources = ['src', 'public'].map((name) => newestChangeMs(join(page, name)))
  const files = ['index.html', 'vite.config.ts', 'atlas.ts'].map((name) => statSync(join(page, name)).mtimeMs)
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
  if (code !== 0) console.error('The fleet map page could not be built (see above); everything else works without it.')
}

/** Everything that must hold: style, types, tests. All of them run, so that one answer names all that is wrong. */
async function runTests(args) {
  const checks = [
    ['style', ['node_modules/@biomejs/biome/bin/biome', 'check', '.']],
    ['types', ['node_modules/typescript/bin/tsc', '--noEmit']],
    ['types of the page', ['node_modules/typescript/bin/tsc', '--noEmit', '--project', 'apps/fleet-map']],
    ['tests', ['node_modules/vitest/vitest.mjs', 'run', ...args]],
  ]
  const failed = []
  for (const [name, command] of checks) if ((await run(projectNode, command)) !== 0) failed.push(name)
  console.log(failed.length === 0 ? 'Style, types and tests hold.' : `Not in order: ${failed.join(', ')}.`)
  return failed.length === 0 ? 0 : 1
}

async function main([first, ...rest]) {
  await installPackages()
  await buildPage()
  if (first === '--run-tests') return runTests(rest)
  const args = first === undefined ? [] : [first, ...rest]
  // The channel tells the supervisor of our end, however it comes. Paths in its options are those of our caller.
  const options = { cwd: process.cwd(), stdio: ['inherit', 'inherit', 'inherit', 'ipc'] }
  return run(projectNode, [join(repository, 'apps/stack/main.ts'), ...args], options)
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error.message)
  process.exitCode = 1
}
