import { execFile } from 'node:child_process'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type InstalledClient, installClient } from '#test/installed-client'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'

const run = promisify(execFile)
let client: InstalledClient
let service: WholeService

beforeAll(async () => {
  ;[client, service] = await Promise.all([installClient(), startWholeService()])
  await mkdir(join(client.folder, '.data'))
  const access = { baseUrl: service.url, adminKey: service.adminKey }
  await writeFile(join(client.folder, '.data/access.json'), JSON.stringify(access))
}, 180_000)
afterAll(async () => {
  await client.remove()
  await service.close()
})

type Outcome = { code: number; stdout: string; stderr: string }

/** Runs a script in bash without the settings of the machine, in the folder of the project that installed the package. */
const shell = async (script: string, environment: NodeJS.ProcessEnv = {}): Promise<Outcome> => {
  const options = { cwd: client.folder, env: { ...client.environment, ...environment } }
  const outcome = await run('bash', ['--norc', '-euo', 'pipefail', '-c', script], options).catch(
    (error: Outcome) => error,
  )
  return { code: 'code' in outcome ? outcome.code : 0, stdout: outcome.stdout, stderr: outcome.stderr }
}

const asAdmin = () => ({ ROUTERFLEET_URL: service.url, ROUTERFLEET_KEY: service.adminKey })

test('the commands of the documentation run unchanged and configure the router', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/command-line.md'), 'utf8')
  const script = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join('')
  const { code, stdout, stderr } = await shell(`${script}\necho "$job"`)
  expect([code, stderr]).toEqual([0, ''])
  const [job = '', ...earlier] = stdout.trimEnd().split('\n').reverse()
  const told = earlier.reverse().join('\n')
  expect(told).toContain('for Harbour ferries. The profile is "ferries".')
  expect(told).toMatch(/SN-0042 +Ferry 42 +RX-500/)
  expect(told).toContain('"accepted":2')
  expect(told).toMatch(/cellular +\S+Z +.*rsrpDbm=-97/)
  expect(told).toMatch(/smartTag/)
  expect(told).toMatch(/finished: 1 of 1 ended \(1 succeeded\)/)
  expect(told).not.toContain('correct horse')
  expect(job).toContain('correct horse')
  const geojson = JSON.parse(await readFile(join(client.folder, 'fleet.geojson'), 'utf8'))
  expect(geojson).toMatchObject({ type: 'FeatureCollection', features: [{ geometry: { type: 'Point' } }] })
}, 120_000)

test('the command tells its version', async () => {
  expect(await shell('routerfleet --version')).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    stderr: '',
  })
})

test('profiles are in a file that only the user can read', async () => {
  const path = join(client.environment.XDG_CONFIG_HOME ?? '', 'routerfleet/profiles.json')
  await shell('routerfleet login --profile private <<< "$ROUTERFLEET_KEY"', asAdmin())
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  const { stdout } = await shell('routerfleet profiles')
  expect(stdout).toMatch(/private +http/)
  expect(stdout).not.toContain(service.adminKey)
})

test('a person is invited, changed and removed', async () => {
  const { stdout: org } = await shell('routerfleet orgs create People --plan pro', asAdmin())
  const run = (command: string) => shell(`routerfleet people ${command} --org ${org.trim()}`, asAdmin())
  const { stdout: link } = await run('invite Ada@example.com --role viewer')
  expect(link).toMatch(/#\/invitation\?link=fli_/)
  expect((await run('list')).stdout).toMatch(/\(invited\) +ada@example\.com +viewer/)
  await fetch(`${service.url}/auth/invitation-acceptances`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-routerfleet-page': '1' },
    body: JSON.stringify({ link: link.trim().split('link=')[1], name: 'Ada Byron' }),
  })
  expect(await run('set-role ada@example.com --role operator')).toMatchObject({ stdout: 'Ada Byron is operator.\n' })
  expect((await run('list')).stdout).toMatch(/Ada Byron +ada@example\.com +operator/)
  expect(await run('remove ada@example.com')).toMatchObject({ code: 0 })
  expect(await run('remove ada@example.com')).toMatchObject({ code: 4, stderr: expect.stringContaining('no person') })
  expect(await run('set-role ada@example.com --role owner')).toMatchObject({ code: 2 })
})

test('variables are set, previewed and removed; a dry run names those that are missing', async () => {
  const { stdout: org } = await shell('routerfleet orgs create Variables --plan pro', asAdmin())
  const { code, stdout, stderr } = await shell(
    `
    rf() { routerfleet --org ${org.trim()} "$@"; }
    rf devices create --serial V-1 --name 'Bus 1' --model RX --notes 'Key 14' > /dev/null
    rf devices get V-1
    profile=$(rf configs create Wifi --settings '{"ssid": "\${ssid}", "psk": {"$var": "wifi_psk"}}')
    rf configs apply "$profile" --device V-1 --dry-run
    group=$(rf groups create Buses)
    rf groups add "$group" V-1
    rf variables set ssid depot
    rf variables set iccid 89310410106543789301
    rf variables set vlan 7
    rf variables list | grep -E '^(iccid|vlan)'
    printf 'correct horse' | rf variables set wifi_psk - --device V-1
    rf variables set ssid '"bus"' --group "$group"
    rf variables priority "$group" 5
    rf variables list --device V-1
    rf configs preview "$profile" V-1
    rf variables remove wifi_psk --device V-1
    rf variables remove wifi_psk --device V-1 || echo "exit code $?"`,
    asAdmin(),
  )
  expect([code, stderr]).toEqual([0, 'There is no variable wifi_psk.\n'])
  expect(stdout).toMatch(/^notes +Key 14$/m)
  expect(stdout).toMatch(/1 skipped \(missing_variable\)[\s\S]*ssid +1 +\S+\nwifi_psk +1 /)
  expect(stdout).toMatch(/^vlan +7\niccid +"89310410106543789301"$/m)
  expect(stdout).toMatch(/wifi_psk +\{"\$secret":\{"set":true/)
  expect(stdout).toMatch(/"ssid": "bus"[\s\S]*ssid +"bus" +group Buses \(priority 5\)\nwifi_psk +\S+ +device/)
  expect(stdout).toMatch(/exit code 4\n$/)
  expect(stdout).not.toContain('correct horse')
})

describe('a device is named by its serial or name', () => {
  test('in the organization of --org, and by its id only if it is there', async () => {
    const script = `
      export ROUTERFLEET_PROFILES=named.json
      one=$(routerfleet orgs create 'Named one' --plan pro)
      two=$(routerfleet orgs create 'Named two' --plan pro)
      own=$(routerfleet devices create --org "$one" --serial SN777 --name Tram --model RX)
      other=$(routerfleet devices create --org "$two" --serial SN777 --name Tram --model RX)
      only=$(routerfleet devices create --org "$two" --serial SN778 --name Ferry --model RX)
      routerfleet jobs create reboot --org "$one" --device SN777 > /dev/null
      routerfleet jobs create reboot --org "$one" --device "$own" > /dev/null
      for device in SN778 Ferry "$other"; do
        routerfleet jobs create reboot --org "$one" --device "$device" || echo "exit code $?"
      done
      routerfleet devices get SN777 || echo "exit code $?"
      routerfleet devices get "$other" --org "\${two^^}" | grep ^serial
      echo $own $own = $(routerfleet --json jobs list --org "$one" | grep -o '"deviceId": *"[^"]*"' | cut -d '"' -f 4)
      routerfleet --json jobs list --org "$two"
      routerfleet login --profile two --org "$two" <<< "$ROUTERFLEET_KEY" > /dev/null
      echo $other = $(routerfleet --profile two --json devices get SN777 | grep '"id"' | head -1 | cut -d '"' -f 4)
      routerfleet --profile two devices get Bus || echo "exit code $?"`
    const { code, stdout, stderr } = await shell(script, asAdmin())
    expect([code, stderr.replaceAll(/[0-9a-f-]{36}/g, 'ID')]).toEqual([
      0,
      `There is no device with the id, serial or name "SN778".
There is no device with the id, serial or name "Ferry".
The device ID is not in the organization ID.
More than one device is named "SN777". Use an id.
There is no device with the id, serial or name "Bus".
Only the organization of the profile was searched. Add \`--org ID\` for another one.
`,
    ])
    const [sameJobs = '', jobsOfTwo, sameProfile = ''] = stdout.split('\n').slice(5)
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      ...Array(3).fill('exit code 4'),
      'exit code 5',
      expect.stringMatching(/^serial +SN777$/),
    ])
    for (const text of [sameJobs, sameProfile])
      expect(text).toBe([text.split(' = ')[0], text.split(' = ')[0]].join(' = '))
    expect(jobsOfTwo).toBe('[]')
  })

  test('also if the name is part of more names than a page has', async () => {
    const numbers = Array.from({ length: 250 }, (_, index) => index + 1)
    // A later device is on an earlier page.
    const rows = [...numbers.map((number) => `Q-${number},Bus ${number}`), `Q-251,${'Long '.repeat(39)}Bus`]
    await writeFile(
      join(client.folder, 'many.csv'),
      ['serial,name,model', ...rows.map((row) => `${row},RX`)].join('\n'),
    )
    const script = `
      org=$(routerfleet orgs create 'Named often' --plan enterprise)
      routerfleet devices import many.csv --org "$org"
      routerfleet devices get 'Bus 1' --org "$org" | grep ^serial
      routerfleet devices get '${'Long '.repeat(39)}Bus' --org "$org" | grep ^serial
      routerfleet devices create --org "$org" --serial Twice --name 'Bus 1' --model RX > /dev/null
      routerfleet devices get 'Bus 1' --org "$org"`
    const { code, stdout, stderr } = await shell(script, asAdmin())
    expect([code, stderr]).toEqual([5, 'More than one device is named "Bus 1". Use an id.\n'])
    expect(stdout).toMatch(/^Created 251 devices\.\nserial +Q-1\nserial +Q-251\n$/)
  })
})

test('the samples of all modems and interfaces are printed, also those of the same moment', async () => {
  const { stdout: org } = await shell('routerfleet orgs create Modems --plan pro', asAdmin())
  const ts = new Date().toISOString()
  const samples = ['wwan0', 'wwan1'].flatMap((modem) => [
    { kind: 'cellular', ts, modem, rat: 'lte', rsrpDbm: -97 },
    ...['wan', 'vpn'].map((name) => ({ kind: 'connection', ts, modem, interface: name, state: 'connected' })),
  ])
  const { stderr } = await shell(
    `routerfleet devices create --serial T-1 --name Tram --model RX --org ${org.trim()} > /dev/null
    token=$(routerfleet devices token T-1 --org ${org.trim()})
    ROUTERFLEET_KEY=$token routerfleet api POST /telemetry --data '${JSON.stringify({ samples })}' > /dev/null`,
    asAdmin(),
  )
  expect(stderr).toBe('')
  await until('all samples are printed', async () => {
    const { stdout } = await shell(`routerfleet telemetry tail T-1 --once --org ${org.trim()}`, asAdmin())
    return stdout.match(/(cellular|connection) .*modem=wwan[01]/g)?.length === samples.length
  })
})

describe('an import', () => {
  test('prints tokens, and what failed with the row', async () => {
    const { stdout: org } = await shell('routerfleet orgs create Imports --plan pro', asAdmin())
    const csv = 'serial,name,model,tags\nI-1,Bus 1,RX-500,bus;night\nI-1,Bus 2,RX-500,\n'
    await writeFile(join(client.folder, 'devices.csv'), csv)
    const outcome = await shell(`routerfleet devices import devices.csv --tokens --org ${org.trim()}`, asAdmin())
    expect(outcome.code).toBe(5)
    expect(outcome.stdout).toMatch(/Created 1 devices\.[\s\S]*fld_/)
    expect(outcome.stderr).toMatch(/1 rows failed:[\s\S]*3 +serial_taken/)
    const exported = await shell(`routerfleet devices export --org ${org.trim()}`, asAdmin())
    expect(exported.stdout).toMatch(/^id?.*serial[\s\S]*I-1/)
    const files = `export ROUTERFLEET_PROFILES=none.json
      routerfleet telemetry export I-1 --kind cellular | head -1
      routerfleet telemetry export I-1 --format parquet | tail -c 4; echo
      routerfleet fleet export dwells | head -1
      routerfleet fleet export coverage --format parquet | head -c 4`
    const { stdout } = await shell(files, asAdmin())
    expect(stdout).toMatch(/^ts,kind,.*\r\nPAR1\ndwellId,deviceId,.*\r\nPAR1$/)
    expect(await shell(`routerfleet telemetry trips I-1 --org ${org.trim()}`, asAdmin())).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('The router made no trip.') },
    })
    expect(await shell(`routerfleet telemetry outages I-1 --org ${org.trim()}`, asAdmin())).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('The router had service all the time.') },
    })
  })
})

test('a forecast reads GPX in any encoding, answers with distances, and says what it skipped', async () => {
  const points = [0, 1, 2].map((step) => `<trkpt lon="${-8.29 + step / 100}" lat="51.84"><ele>3</ele></trkpt>`)
  const segment = `<trkseg>${points.join('')}</trkseg>`
  const write = (more: string) =>
    writeFile(join(client.folder, 'route.gpx'), `\uFEFF<gpx>${more}<trk>${segment}</trk></gpx>`, 'utf16le')
  await write('')
  const { code, stdout, stderr } = await shell('routerfleet forecast route.gpx', asAdmin())
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/^Length 1\.4 km, with data \d\.\d km/)
  await write(`<wpt lat="1" lon="2"/><trk>${segment}</trk>`)
  const both = await shell('routerfleet forecast - < route.gpx', asAdmin())
  expect(both).toMatchObject({ code: 0, stderr: 'Skipped: 1 waypoint.\n' })
  expect(both.stdout).toMatch(/^Length 2\.7 km in 2 parts, with data/)
})

describe('an error is a sentence with an exit code', () => {
  const unknown = '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'
  test.for([
    [1, 'mcp', /^This command needs the packages @modelcontextprotocol\/sdk and zod\./],
    [2, 'devices lisst', /unknown command 'lisst'/],
    [2, 'devices create --serial X', /required option '--name <name>' not specified/],
    [2, 'jobs create reboot --device X --latest 2099-01-01T00:00:00Z', /need --wait-for\.$/m],
    [2, 'jobs create reboot --device X --wait-for night', /Allowed choices are good-signal, dwell/],
    [2, `configs create Wifi --org ${unknown} --settings "{"`, /^The data is not JSON/],
    [2, 'api POST /orgs --data "{"', /^The data is not JSON/],
    [2, 'forecast - <<< "<kml/>"', /^The file is KML, not GPX\..*GPSBabel\.$/m],
    [2, 'forecast missing.gpx', /^Cannot read missing\.gpx: it does not exist\.$/m],
    [3, '--key flk_wrong orgs list', /^The API key or token is|^[A-Z].*\.$/m],
    [3, '--profile nobody orgs list', /^There is no profile "nobody"\. Run `routerfleet login --profile nobody`\.$/m],
    [4, `devices get ${unknown}`, new RegExp(`^No such device: ${unknown}\\.$`, 'm')],
    [4, 'devices get SN-9999', /^There is no device with the id, serial or name "SN-9999"\.$/m],
    [5, 'orgs create "" ', /name/],
    [6, '--url http://127.0.0.1:9 --key flk_x api GET /livez', /^Cannot reach http:\/\/127\.0\.0\.1:9: .*\.$/m],
  ] as const)('%i for %s', async ([code, command, text]) => {
    const outcome = await shell(`routerfleet ${command}`, asAdmin())
    expect([outcome.code, outcome.stderr]).toEqual([code, expect.stringMatching(text)])
    expect(outcome.stderr).not.toMatch(/\bat .*:\d+:\d+/)
  })

  test('7 if a job of a watched batch did not succeed', async () => {
    const script = `
      org=$(routerfleet orgs create Cancelled --plan pro)
      routerfleet devices create --org "$org" --serial C-1 --name Bus --model RX --tag cancelled
      group=$(routerfleet groups create All --org "$org" --tag cancelled)
      batch=$(routerfleet jobs create reboot --org "$org" --group "$group")
      routerfleet jobs cancel --org "$org" "$batch"
      routerfleet jobs watch --org "$org" "$batch"`
    const { code, stderr } = await shell(script, asAdmin())
    expect([code, stderr]).toEqual([7, expect.stringMatching(/^1 of 1 jobs did not succeed:[\s\S]*cancelled$/m)])
  })
})

test('a job that waits for a good moment says why, in the list and in a batch that is watched', async () => {
  const script = `
    org=$(routerfleet orgs create Waiting --plan pro)
    routerfleet devices create --org "$org" --serial W-1 --name Bus --model RX --tag waits
    group=$(routerfleet groups create All --org "$org" --tag waits)
    routerfleet jobs create reboot --org "$org" --group "$group" --dry-run
    batch=$(routerfleet jobs create reboot --org "$org" --group "$group" --wait-for good-signal --min-quality fair \
      --latest 2099-01-01T00:00:00Z --at-latest expire)
    until routerfleet jobs list --org "$org" | grep "dispatched *noSignal"; do sleep 1; done
    routerfleet jobs watch --org "$org" "$batch" > watched &
    until grep -q held watched; do sleep 0.2; done
    routerfleet jobs cancel --org "$org" "$batch"
    wait
    cat watched`
  const { stdout } = await shell(script, asAdmin())
  expect(stdout).toMatch(/Would create: reboot for 1 devices\.\nSTAGE +DEVICES +NOT BEFORE\n1 +1 +20/)
  expect(stdout).toMatch(/reboot +dispatched +noSignal/)
  expect(stdout).toContain('running: 0 of 1 ended (1 dispatched), 1 held (1 noSignal)')
  expect(stdout).toContain('cancelled: 1 of 1 ended (1 cancelled)')
})

describe('completion in bash', () => {
  /** What bash offers after a line that ends where the cursor is. */
  async function complete(line: string): Promise<string[]> {
    const words = line.split(' ')
    const script = `
      source <(routerfleet completion bash)
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length - 1}
      "$(complete -p routerfleet | sed 's/.*-F \\([^ ]*\\) .*/\\1/')"
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const { code, stdout, stderr } = await shell(script)
    expect([code, stderr]).toEqual([0, ''])
    return stdout.split('\n').filter((word) => word !== '')
  }

  test.for([
    ['routerfleet de', ['devices']],
    ['routerfleet devices ', ['list', 'get', 'create', 'token', 'import', 'export']],
    ['routerfleet --json devices ex', ['export']],
    ['routerfleet devices list --st', ['--status']],
    ['routerfleet devices list --status o', ['online', 'offline']],
    ['routerfleet fleet gps --format g', ['geojson']],
    ['routerfleet fleet export ', ['coverage', 'trips', 'dwells']],
    ['routerfleet telemetry export VAN-7 --format p', ['parquet']],
    ['routerfleet jobs create re', ['reboot']],
    ['routerfleet jobs create reboot --wait-for d', ['dwell']],
    ['routerfleet devices get --pro', ['--profile']],
  ] as const)('%s', async ([line, expected]) => {
    expect((await complete(line)).sort()).toEqual([...expected].sort())
  })
})

test('alerts are listed, acknowledged and closed by id and by filter; a chat channel tells what became of its test', async () => {
  const asked = async (path: string, json: object) => {
    const headers = { authorization: `Bearer ${service.adminKey}`, 'content-type': 'application/json' }
    const answer = await fetch(service.url + path, { method: 'POST', headers, body: JSON.stringify(json) })
    return (await answer.json()) as { id: string }
  }
  const { id: org } = await asked('/orgs', { name: 'Night buses', plan: 'pro' })
  for (const serial of ['N-1', 'N-2'])
    await asked('/devices', { organizationId: org, serial, name: `Bus ${serial}`, model: 'RX' })
  await service.pool.query(
    "UPDATE device SET status = 'online', last_seen_at = now() - interval '1 hour' WHERE organization_id = $1",
    [org],
  )
  const condition = { kind: 'offline', forMinutes: 5 }
  await asked(`/orgs/${org}/alert-rules`, { name: 'Silent', severity: 'critical', condition })
  const asOrg = (command: string) => shell(command, { ...asAdmin(), org })
  await until('both alerts are open', async () => {
    const { stdout } = await asOrg('routerfleet alerts count --org "$org"')
    return /critical +2 +0/.test(stdout)
  })
  const { code, stdout, stderr } = await asOrg(`
    set -- $(routerfleet --json alerts list --org "$org" | grep -o '"id": *"[^"]*"' | cut -d '"' -f 4)
    routerfleet alerts list --org "$org" --severity critical
    routerfleet alerts acknowledge --org "$org" --assignee Ada "$1"
    routerfleet alerts note --org "$org" --comment 'The antenna is broken.' "$1"
    routerfleet alerts close --org "$org" --all --device N-2
    routerfleet alerts count --org "$org"`)
  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/critical +open +offline +Bus N-[12] +Silent/)
  expect(stdout).toContain('Assignee: Ada. Comment: The antenna is broken.')
  expect(stdout.match(/ changed$/gm)).toHaveLength(2)
  expect(await asOrg('routerfleet alerts close --org "$org"')).toMatchObject({ code: 2 })

  // Nothing answers there, so that its test fails.
  const url = 'https://chat.invalid/hooks/a-secret-path'
  const chat = await asOrg(`
    chat=$(printf '%s' '${url}' | routerfleet alerts channels create --org "$org" --kind slack Night)
    routerfleet alerts channels test --org "$org" "$chat" || echo "exit code $?"
    routerfleet alerts channels list --org "$org"`)
  expect(chat.stdout).toMatch(/^failed: the receiver could not be reached/)
  expect(chat.stdout).toContain('exit code')
  expect(chat.stdout).toMatch(/Night +slack +chat\.invalid +failed/)
  expect(chat.stdout).not.toContain('a-secret-path')
}, 120_000)

test('reads a file in Windows-1252 after an example of it, and other files in Unicode only', async () => {
  const { stdout: org } = await shell('routerfleet orgs create Encodings --plan pro', asAdmin())
  const file = Buffer.from('serial,name,model\nE-1,Z\u00fcrich,RX\n', 'latin1')
  await writeFile(join(client.folder, 'windows.csv'), file)
  const imported = await shell(`routerfleet devices import windows.csv --org ${org.trim()}`, asAdmin())
  expect([imported.code, imported.stderr]).toEqual([
    0,
    'windows.csv is not UTF-8. It is read as Windows-1252, for example: Z\u00fcrich\n',
  ])
  const found = await shell(`routerfleet devices get e-1 --org ${org.trim()}`, asAdmin())
  expect(found.stdout).toContain('Z\u00fcrich')
  const refused = await shell(`routerfleet configs create Wifi --settings @windows.csv --org ${org.trim()}`, asAdmin())
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('it is not UTF-8')])
})
