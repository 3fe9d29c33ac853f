import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AdapterService, startAdapterService } from '#test/adapter-service'
import { runTelegrafOnce, telegrafMissing } from '#test/telegraf'
import { until } from '#test/until'

let service: AdapterService
const folder = mkdtempSync(join(tmpdir(), 'telegraf-'))
beforeAll(async () => {
  if (telegrafMissing === null) service = await startAdapterService()
}, 120_000)
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true })
})

test('what Telegraf gathers can be read field by field, with the configuration of the documentation', async ({
  skip,
}) => {
  if (telegrafMissing !== null) return skip(telegrafMissing)
  const router = await service.newRouter()
  // Telegraf rounds times to its interval.
  const ms = Math.floor(Date.now() / 1_000) * 1_000 - 5_000
  const lines = [
    `cellular,rat=lte,plmn=26203 rsrpDbm=-95.5,sinrDb=8.25,pci=12i,operatorName="Net 1" ${ms}000000`,
    `system firmware="7.1",cpuPct=12.5,uptimeS=4000i ${ms}000000`,
    `location lat=51.9,lon=-8.47,fix="3d" ${ms}000000`,
    `connection state="connected",rxBytes=123456u ${ms}000000`,
    `pigeons count=1i ${ms}000000`,
  ]
  writeFileSync(join(folder, 'modem.influx'), `${lines.join('\n')}\n`)
  writeFileSync(
    join(folder, 'telegraf.conf'),
    `[agent]
  hostname = "router"
[[inputs.file]]
  files = ["${join(folder, 'modem.influx')}"]
  data_format = "influx"
[[outputs.influxdb_v2]]
  urls = ["${service.url}/adapters/influx"]
  token = "${router.token}"
  organization = "ignored"
  bucket = "ignored"
  namepass = ["cellular", "connection", "location", "system"]
`,
  )
  expect(runTelegrafOnce(join(folder, 'telegraf.conf'))).not.toMatch(/ E! /)
  const latest = await service.latest(router, 'cellular', 'connection', 'location', 'system')
  const ts = new Date(ms).toISOString()
  expect(latest).toMatchObject({
    cellular: { ts, rat: 'lte', plmn: '26203', rsrpDbm: -95.5, sinrDb: 8.25, pci: 12, operatorName: 'Net 1' },
    system: { ts, firmware: '7.1', cpuPct: 12.5, uptimeS: 4_000 },
    location: { ts, lat: 51.9, lon: -8.47, fix: '3d' },
    connection: { ts, state: 'connected', rxBytes: 123_456 },
  })
  const device = await until('the router is on the map', async () => {
    const { devices } = await service.admin('GET', '/fleet/gps')
    return devices[0]?.location && devices[0]
  })
  expect(device).toMatchObject({ deviceId: router.id, location: { lat: 51.9, lon: -8.47 } })
  const dropped = ['source="influx"', 'field="cellular.host"']
  expect(await service.metric('telemetry_adapter_fields_dropped_total', dropped)).toBe(1)
})
