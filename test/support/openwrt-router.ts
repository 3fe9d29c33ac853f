import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId } from '#core/ids'

const package_ = join(import.meta.dirname, '../../agents/openwrt/files')

const runs = (command: string, args: string[]) => spawnSync(command, args).error === undefined

/** The functions of OpenWrt that the init script uses. Those of procd print their arguments. */
const rcCommon = `
config_load() { :; }
config_get() { eval "$1=\\"\\\${uci_$3:-\\$4}\\""; }
config_get_bool() { config_get "$@"; }
procd_open_instance() { printf 'instance\\n'; }
procd_set_param() { printf '%s\\n' "$@" | tr '\\n' '\\t'; echo; }
procd_append_param() { procd_set_param "$@"; }
procd_close_instance() { :; }
`

function readInstances(output: string): ProcdInstance[] {
  const instances: ProcdInstance[] = []
  for (const line of output.trim().split('\n')) {
    const [name = '', ...values] = line.trimEnd().split('\t')
    if (name === 'instance') instances.push({ command: [], env: {} })
    const instance = instances.at(-1)
    if (name === 'command') instance?.command.push(...values)
    if (name === 'env') for (const value of values) Object.assign(instance?.env ?? {}, pairOf(value))
  }
  return instances
}

const pairOf = (text: string) => ({ [text.slice(0, text.indexOf('='))]: text.slice(text.indexOf('=') + 1) })

/** The reason why the agent cannot run here; null if it can. */
export const openwrtMissing: string | null =
  runs('busybox', ['true']) && runs('curl', ['--version']) ? null : 'BusyBox and curl are not installed.'

/** The reason why signatures cannot be checked here; null if they can. */
export const signifyMissing: string | null = runs('signify-openbsd', ['-h']) ? null : 'signify is not installed.'

type ProcdInstance = { command: string[]; env: Record<string, string> }

export type OpenwrtRouter = {
  folder: string
  /** Writes a command of the router. It can use the folder as $ROUTER. */
  command(name: string, script: string): void
  /** Starts a part of the agent in BusyBox ash. */
  start(part: 'report' | 'jobs', more?: Record<string, string>): void
  /** Starts a script in BusyBox ash. */
  startScript(path: string, args: readonly string[], more?: Record<string, string>): void
  /**
   * Runs a function of the init script, with these options of uci and without variables of the agent, as rc.common does.
   * Returns the instances that procd would start.
   */
  init(function_: string, options?: Record<string, string>): ProcdInstance[]
  /** Ends all parts and scripts. */
  stop(signal?: NodeJS.Signals): Promise<void>
  /** Runs a script with the functions of the agent, and returns its output. */
  run(script: string, input?: string): string
  /** Gives the router a new boot, as after a restart. */
  boot(): void
  /** The lines that the commands have written to a file of the router. */
  lines(file: string): string[]
  output(): string
  remove(): Promise<void>
}

/** Creates a router with BusyBox, curl and the files of the package. Other commands have to be written. */
export function newOpenwrtRouter(environment: Record<string, string>): OpenwrtRouter {
  const folder = mkdtempSync(join(tmpdir(), 'openwrt-'))
  const [bin, library, proc] = ['bin', 'lib', 'proc'].map((name) => join(folder, name)) as [string, string, string]
  for (const path of [bin, library, join(proc, 'sys/kernel/random')]) mkdirSync(path, { recursive: true })
  const applets = execFileSync('busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n')
  const busybox = execFileSync('sh', ['-c', 'command -v busybox'], { encoding: 'utf8' }).trim()
  const curl = execFileSync('sh', ['-c', 'command -v curl'], { encoding: 'utf8' }).trim()
  for (const applet of applets) if (applet !== 'reboot') symlinkSync(busybox, join(bin, applet))
  symlinkSync(curl, join(bin, 'curl'))
  cpSync(join(package_, 'usr/lib/routerfleet'), library, { recursive: true })
  for (const file of ['loadavg', 'meminfo']) writeFileSync(join(proc, file), readFileSync(`/proc/${file}`))
  symlinkSync('/proc/uptime', join(proc, 'uptime'))
  writeFileSync(join(folder, 'release'), "DISTRIB_RELEASE='23.05.2'\n")
  const agent = join(package_, 'usr/sbin/routerfleet-agent')
  const env = {
    PATH: bin,
    ROUTER: folder,
    LIB_DIR: library,
    STATE_DIR: join(folder, 'state'),
    RUN_DIR: join(folder, 'run'),
    PROC: proc,
    SYS: join(folder, 'sys'),
    DEV: join(folder, 'dev'),
    RELEASE_FILE: join(folder, 'release'),
    PACKAGES: join(folder, 'packages'),
    FIRMWARE_KEYS: join(folder, 'keys'),
    MODEL: 'OpenWrt One',
    INTERVAL: '1',
    LONG_POLL_SECONDS: '5',
    REBOOT_WAIT: '60',
    SETTLE_SECONDS: '0',
    ...environment,
  }
  let output = ''
  let parts: { child: ChildProcess; gone: Promise<unknown> }[] = []
  const boot = () => writeFileSync(join(proc, 'sys/kernel/random/boot_id'), `${newId()}\n`)
  boot()

  async function stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    for (const { child } of parts) {
      // The agent and what it has started.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, signal)
    }
    await Promise.all(parts.map(({ gone }) => gone))
    parts = []
  }

  function startScript(path: string, args: readonly string[], more: Record<string, string> = {}): void {
    const options = { env: { ...env, ...more }, detached: true }
    const child = spawn(join(bin, 'ash'), [path, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
    parts.push({ child, gone: once(child, 'exit') })
  }

  return {
    folder,
    command(name, script) {
      // The name can be a link to BusyBox itself.
      rmSync(join(bin, name), { force: true })
      writeFileSync(join(bin, name), `#!${join(bin, 'sh')}\n${script}\n`)
      chmodSync(join(bin, name), 0o755)
    },
    start: (part, more) => startScript(agent, [part], more),
    startScript,
    stop,
    run(script, input = '') {
      const functions = '. "$LIB_DIR/base.sh"; for file in "$LIB_DIR"/*.sh; do . "$file"; done'
      const { status, stdout, stderr } = spawnSync(join(bin, 'ash'), ['-c', `${functions}\n${script}`], {
        env,
        input,
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`The script ended with code ${status}: ${stdout}${stderr}`)
      return stdout
    },
    init(function_, options = {}) {
      const script = readFileSync(join(package_, 'etc/init.d/routerfleet-agent'), 'utf8')
      // The places of the agent in the test. On a router, they are the defaults.
      const placed = script.replaceAll('/usr/sbin/routerfleet-agent', agent)
      const { PATH, LIB_DIR, STATE_DIR, RUN_DIR } = env
      const values = Object.entries(options).map(([name, value]) => [`uci_${name}`, value])
      const { status, stdout, stderr } = spawnSync(join(bin, 'ash'), ['-c', `${rcCommon}\n${placed}\n${function_}`], {
        env: { PATH, LIB_DIR, STATE_DIR, RUN_DIR, ...Object.fromEntries(values) },
        encoding: 'utf8',
      })
      if (status !== 0) throw new Error(`The init script ended with code ${status}: ${stdout}${stderr}`)
      return readInstances(stdout)
    },
    boot,
    lines(file) {
      const path = join(folder, file)
      return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : []
    },
    output: () => output,
    async remove() {
      await stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
