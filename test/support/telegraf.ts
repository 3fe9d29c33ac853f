import { spawnSync } from 'node:child_process'
import { delimiter, join } from 'node:path'

/** Where .ci/run installs Telegraf. */
const installed = join(import.meta.dirname, '../../.cache/telegraf')
const environment = { ...process.env, PATH: [process.env.PATH, installed].join(delimiter) }

/** The reason why Telegraf is not available; null if it is. */
export const telegrafMissing: string | null =
  spawnSync('telegraf', ['--version'], { env: environment }).error === undefined
    ? null
    : 'Telegraf is not installed (.ci/run installs it with Go).'

/** Runs Telegraf until it has gathered and written once. Returns its output. Throws if it fails. */
export function runTelegrafOnce(configFile: string): string {
  const { status, stdout, stderr } = spawnSync('telegraf', ['--config', configFile, '--once'], {
    env: environment,
    encoding: 'utf8',
    timeout: 60_000,
  })
  if (status !== 0) throw new Error(`telegraf ended with code ${status}: ${stdout}${stderr}`)
  return stdout + stderr
}
