import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '../..')

/** Where `.ci/run` downloads the packages that the Python client and its tests need. */
const packages = join(repository, '.cache/python-packages')

export type PythonEnvironment = {
  /** A folder with the README, the tests and the settings of the client, but without its source. */
  folder: string
  /** Installs packages that `.ci/run` has downloaded. */
  install(...args: string[]): Promise<void>
  /** Runs a program of the environment in the folder. Returns its exit code and output. */
  run(program: string, args: readonly string[], environment?: Record<string, string>): Promise<Outcome>
  remove(): Promise<void>
}
type Outcome = { code: number; stdout: string; stderr: string }

/** Whether this machine has Python and the packages. */
export const canInstallPythonClient: boolean =
  existsSync(packages) &&
  (process.env.PATH ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'python3')))

/** Builds the wheel of the client as for a registry, and installs it into an empty environment. */
export async function installPythonClient(): Promise<PythonEnvironment> {
  const root = await mkdtemp(join(tmpdir(), 'routerfleet-python-'))
  const [folder, source, environment] = ['project', 'source', 'environment'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ]
  // The build writes beside the source.
  await cp(join(repository, 'clients/python'), source, { recursive: true })
  for (const name of ['README.md', 'tests', 'pyproject.toml'])
    await cp(join(source, name), join(folder, name), { recursive: true })
  const env = { ...process.env, PIP_NO_INDEX: '1', PIP_FIND_LINKS: packages, PIP_DISABLE_PIP_VERSION_CHECK: '1' }
  const pip = (...args: string[]) => run(join(environment, 'bin/python'), ['-m', 'pip', ...args], { cwd: root, env })
  await run('python3', ['-m', 'venv', environment])
  await pip('wheel', '--quiet', '--no-deps', '--wheel-dir', root, source)
  await pip('install', '--quiet', '--find-links', root, 'routerfleet')
  return {
    folder,
    install: async (...args) => {
      await pip('install', '--quiet', ...args)
    },
    run: (program, args, more = {}) =>
      run(join(environment, 'bin', program), args, {
        cwd: folder,
        env: { ...process.env, ...more },
        maxBuffer: 16 * 1024 * 1024,
      }).then(
        ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
        ({ code, stdout, stderr }: Outcome) => ({ code, stdout, stderr }),
      ),
    remove: () => rm(root, { recursive: true, force: true }),
  }
}
