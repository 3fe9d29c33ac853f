import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from './run-program.mjs'

const progressEveryMs = 10_000

/**
 * Installs the packages of the lock file if they are missing. Prints the output of npm only when npm fails, because its
 * warnings about the environment hide the relevant lines. Throws if npm fails.
 */
export async function installPackages(repository, projectNode) {
  if (packagesAreInstalled(repository, projectNode)) return
  console.log('Installing packages (first start, or the lock file changed) …')
  const startedMs = Date.now()
  const seconds = () => Math.round((Date.now() - startedMs) / 1000)
  const progress = setInterval(() => console.log(`  still installing after ${seconds()} s …`), progressEveryMs)
  const output = []
  try {
    const code = await runNpmInstall(repository, (chunk) => output.push(chunk))
    if (code === 0) return console.log(`Installed packages in ${seconds()} s.`)
  } finally {
    clearInterval(progress)
  }
  process.stderr.write(Buffer.concat(output))
  throw new Error('npm could not install the packages. Its messages are above.')
}

function runNpmInstall(repository, onOutput) {
  // Use the running npm and its Node, because the installation replaces the Node in node_modules.
  const { npm_execpath: npm, npm_node_execpath: node } = process.env
  // Not `npm ci`: it rejects a lock file that lacks the optional packages of other platforms.
  const args = ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  const options = { cwd: repository, onOutput }
  return npm && node ? runProgram(node, [npm, ...args], options) : runProgram('npm', args, options)
}

/** Returns true if every package that the lock file requires on this machine is installed in that version. */
function packagesAreInstalled(repository, projectNode) {
  const installedFile = join(repository, 'node_modules/.package-lock.json')
  if (!existsSync(installedFile) || !existsSync(projectNode)) return false
  const installed = readJson(installedFile).packages
  const wanted = Object.entries(readJson(join(repository, 'package-lock.json')).packages)
  return wanted.every(([path, entry]) => {
    const mayBeAbsent = path === '' || (entry.optional && !installed[path])
    return mayBeAbsent || installed[path]?.version === entry.version
  })
}

const readJson = (path) => JSON.parse(readFileSync(path, 'utf8'))
