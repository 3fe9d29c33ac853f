import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

type Build = { repository: string; folder: string; version: string }

const run = (command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): void => {
  execFileSync(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] })
}

/** Packs the TypeScript client as for a registry. */
export function packClient({ repository, folder }: Build): void {
  run('npm', ['pack', '--silent', '--pack-destination', folder], join(repository, 'clients/typescript'))
}

/** Builds the wheel of the Python client. Returns false if there is no such client. */
export function buildWheel({ repository, folder }: Build): boolean {
  const client = join(repository, 'clients/python')
  if (!existsSync(join(client, 'pyproject.toml'))) return false
  const environment = mkdtempSync(join(tmpdir(), 'routerfleet-wheel-'))
  try {
    run('python3', ['-m', 'venv', environment], client)
    const options = ['--quiet', '--disable-pip-version-check', '--no-deps', '--wheel-dir', folder]
    // The same commit gives the same file.
    const time = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: repository, encoding: 'utf8' }).trim()
    const env = { ...process.env, SOURCE_DATE_EPOCH: time }
    run(join(environment, 'bin/pip'), ['wheel', ...options, client], client, env)
  } finally {
    rmSync(environment, { recursive: true, force: true })
  }
  return true
}

const engines = ['docker', 'podman', 'buildah']

/** The first program for images on the PATH. */
export const findEngine = (): string | undefined =>
  engines.find((engine) => (process.env.PATH ?? '').split(delimiter).some((place) => existsSync(join(place, engine))))

/** Builds the image and tags it with the version. Its id is in `image-id.txt`. */
export function buildImage({ repository, folder, version }: Build, engine: string, options: readonly string[]): void {
  const labels = ['--label', `org.opencontainers.image.version=${version}`]
  const id = join(folder, 'image-id.txt')
  run(engine, ['build', ...options, ...labels, '--iidfile', id, '--tag', `routerfleet:${version}`, '.'], repository)
}

/** Writes the SHA-256 sums of the files of a folder, as `sha256sum --check` reads them. */
export function writeSums(folder: string): void {
  const files = readdirSync(folder).filter((name) => name !== 'SHA256SUMS')
  const lines = files.sort().map((name) => {
    const sum = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    return `${sum}  ${name}\n`
  })
  writeFileSync(join(folder, 'SHA256SUMS'), lines.join(''))
}
