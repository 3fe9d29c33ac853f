import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OpenwrtRouter } from './openwrt-router.ts'

/** Where `.ci/run` puts the source of https://github.com/openwisp/openwrt-openwisp-monitoring. */
const source = join(import.meta.dirname, '../../.cache/openwrt-openwisp-monitoring/openwisp-monitoring/files')

const hasLua = spawnSync('lua5.1', ['-e', 'require("cjson")']).status === 0

/** The reason why the stock agent of OpenWISP cannot run here; null if it can. */
export const openwispAgentMissing: string | null = !existsSync(source)
  ? 'openwrt-openwisp-monitoring is not in .cache (.ci/run fetches it).'
  : hasLua
    ? null
    : 'Lua 5.1 with cjson is not installed.'

/** What the router's buses and its modem answer. `ubus`: by object and method, such as `system info`. */
type RouterState = { ubus: Record<string, unknown>; modem: unknown; signal: unknown }

export type OpenwispAgent = {
  /** Starts to collect a report a second. */
  collect(): void
  /** Starts to send the reports. */
  send(baseUrl: string, device: { id: string; token: string }): void
  /** Returns the number of reports that wait. */
  waiting(): number
}

/** The C modules of OpenWrt, which no other system has. */
const modules = {
  ubus: `
local file = assert(io.open(os.getenv('ROUTER') .. '/ubus.json'))
local answers = require('cjson').decode(file:read('*a'))
file:close()
return { connect = function()
  return { call = function(_, object, method) return answers[object .. ' ' .. method] end }
end }`,
  uci: `
return { cursor = function()
  return {
    get = function(_, _, option) return option == 'device' and '/sys/devices/modem' or nil end,
    get_all = function() end,
    foreach = function() end,
  }
end }`,
  nixio: 'return { getifaddrs = function() return {} end }',
}

/** Prints the member of the input that a path such as `@.memory.total` names. */
const jsonfilter = `
local value = require('cjson').decode(io.read('*a'))
for name in arg[2]:gmatch('[%w_]+') do value = value[name] end
print(value)
`

/** Installs the agent as its package does, with its paths below the folder of the router. */
export function installOpenwispAgent(router: OpenwrtRouter, { ubus, modem, signal }: RouterState): OpenwispAgent {
  const { folder } = router
  const lua = join(folder, 'usr/lib/lua')
  const reports = join(folder, 'tmp/openwisp/monitoring')
  const agent = join(folder, 'usr/sbin/openwisp-monitoring')
  const program = (path: string, text: string) => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    chmodSync(path, 0o755)
  }
  const moved = (file: string) =>
    readFileSync(join(source, file), 'utf8')
      .replaceAll('/usr/', `${folder}/usr/`)
      .replaceAll('"/tmp/', `"${folder}/tmp/`)
  program(agent, moved('monitoring.agent'))
  program(join(folder, 'usr/sbin/netjson-monitoring'), moved('netjson-monitoring'))
  program(join(folder, 'usr/sbin/openwisp-get-random-number'), '#!/bin/sh\necho "$1"\n')
  program(
    join(folder, 'usr/libexec/netjson-monitoring'),
    readFileSync(join(source, 'sbin/netjson-monitoring.lua'), 'utf8'),
  )
  cpSync(join(source, 'lib'), lua, { recursive: true })
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(lua, `${name}.lua`), text)
  for (const [name, value] of Object.entries({ ubus, modem, signal }))
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(value))
  writeFileSync(join(folder, 'info.json'), JSON.stringify(ubus['system info']))
  const luaPath = spawnSync('sh', ['-c', 'command -v lua5.1'], { encoding: 'utf8' }).stdout.trim()
  router.command('lua', `exec ${luaPath} "$@"`)
  router.command('ubus', 'cat "$ROUTER/info.json"')
  writeFileSync(join(folder, 'jsonfilter.lua'), jsonfilter)
  router.command('jsonfilter', 'lua "$ROUTER/jsonfilter.lua" "$@"')
  // The agent wakes the process that sends, which looks for reports every second anyway.
  router.command('pgrep', 'exit 1')
  router.command('mmcli', 'case "$*" in *signal-get*) cat "$ROUTER/signal.json" ;; *) cat "$ROUTER/modem.json" ;; esac')
  router.command('logger', 'echo "$*" >&2')
  const start = (options: readonly string[]) =>
    router.startScript(agent, ['--interval', '1', '--verbose_mode', '0', ...options], {
      LUA_PATH: `${lua}/?.lua;;`,
    })

  return {
    collect: () => start(['--mode', 'collect', '--required_memory', '0.05', '--bootup_delay', '0']),
    send: (baseUrl, { id, token }) => start(['--mode', 'send', '--url', baseUrl, '--uuid', id, '--key', token]),
    waiting: () => (existsSync(reports) ? readdirSync(reports).filter((name) => name.endsWith('.gz')).length : 0),
  }
}
