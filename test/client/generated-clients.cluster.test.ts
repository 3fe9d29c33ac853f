import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findGenerator, outputOf } from '#test/client-generators'
import { until } from '#test/until'
import { startWholeService, type WholeService } from '#test/whole-service'
import type { OpenApiDocument } from '../../apps/control-plane/http/openapi.ts'

// Clients in Python and Go that others generate from the document of a running service.

const python = findGenerator('openapi-python-client')
const [oapiCodegen, go] = [findGenerator('oapi-codegen'), findGenerator('go')]
const serial = 'SN-0042'
const shown = { devices: [serial], gps: [[51.84, -8.29]] }

let service: WholeService
let document: OpenApiDocument
let folder: string

beforeAll(async () => {
  if (!python && !oapiCodegen) return
  service = await startWholeService()
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-generated-'))
  await seedDevice()
  document = await call('GET', '/openapi.json')
  await writeFile(join(folder, 'openapi.json'), JSON.stringify(document))
}, 120_000)
afterAll(async () => {
  if (!service) return
  await service.close()
  await rm(folder, { recursive: true })
})

async function call<Body>(method: string, path: string, body?: object, key = service.adminKey): Promise<Body> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const response = await fetch(service.url + path, { method, headers, body: body ? JSON.stringify(body) : null })
  return (await response.json()) as Body
}

/** Creates a device with a position. */
async function seedDevice(): Promise<void> {
  const { id: organizationId } = await call<{ id: string }>('POST', '/orgs', { name: 'Buses', plan: 'pro' })
  const device = { organizationId, serial, name: 'Bus 42', model: 'RX-500' }
  const { id } = await call<{ id: string }>('POST', '/devices', device)
  const { token } = await call<{ token: string }>('POST', `/devices/${id}/token`, {})
  const fix = { kind: 'location', ts: new Date().toISOString(), lat: 51.84, lon: -8.29, fix: '3d' }
  await call('POST', '/telemetry', { samples: [fix] }, token)
  await until('the device is on the map', async () => {
    const { devices } = await call<{ devices: { location: object | null }[] }>('GET', '/fleet/gps')
    return devices.some(({ location }) => location !== null)
  })
}

/** The operations whose body has no form as JSON. */
const withoutJson = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { requestBody }]) => requestBody && !('application/json' in (requestBody.content as object)))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )

const pythonProgram = `
import json, sys
from fleet.client import AuthenticatedClient
from fleet.api.devices import list_devices
from fleet.api.fleet_gps import get_fleet_gps

with AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2]) as client:
    page = list_devices.sync(client=client)
    gps = get_fleet_gps.sync(client=client)
positions = [[device.location.lat, device.location.lon] for device in gps.devices]
print(json.dumps({'devices': [device.serial for device in page.items], 'gps': positions}))
`

test('openapi-python-client generates every JSON operation, and its client reads devices and positions', async ({
  skip,
}) => {
  if (!python) return skip('openapi-python-client is not installed (.ci/run installs it)')
  const options = ['--path', 'openapi.json', '--meta', 'none', '--output-path', 'fleet']
  const said = await outputOf(python, ['generate', ...options], folder)
  const omitted = [...said.matchAll(/parsing (\w+ \S+) within \w+\.\s+Endpoint will not be generated/g)]
  const others = withoutJson()
  expect(omitted.map(([, operation = '']) => operation).filter((name) => !others.includes(name))).toEqual([])
  expect(said).not.toContain('Unable to')
  await writeFile(join(folder, 'read.py'), pythonProgram)
  const read = await outputOf(join(dirname(python), 'python3'), ['read.py', service.url, service.adminKey], folder)
  expect(JSON.parse(read)).toEqual(shown)
}, 120_000)

const goProgram = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	"example.com/read/fleet"
)

func main() {
	key := fleet.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	})
	client, err := fleet.NewClientWithResponses(os.Args[1], key)
	check(err)
	page, err := client.ListDevicesWithResponse(context.Background(), nil)
	check(err)
	gps, err := client.GetFleetGpsWithResponse(context.Background(), nil)
	check(err)
	shown, err := gps.JSON200.Devices.AsFleetGpsDevices0()
	check(err)
	devices, positions := []string{}, [][]float64{}
	for _, device := range page.JSON200.Items {
		devices = append(devices, device.Serial)
	}
	for _, device := range shown {
		positions = append(positions, []float64{*device.Location.Lat, *device.Location.Lon})
	}
	answer, err := json.Marshal(map[string]any{"devices": devices, "gps": positions})
	check(err)
	fmt.Println(string(answer))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
`

test('oapi-codegen generates a client that compiles and reads devices and positions', async ({ skip }) => {
  if (!oapiCodegen || !go) return skip('oapi-codegen or Go is not installed (.ci/run installs oapi-codegen)')
  const module = join(folder, 'read')
  await rm(module, { recursive: true, force: true })
  await outputOf('mkdir', ['-p', join(module, 'fleet')], folder)
  const options = ['-generate', 'models,client', '-package', 'fleet', '-o', join(module, 'fleet/fleet.go')]
  await outputOf(oapiCodegen, [...options, 'openapi.json'], folder)
  await writeFile(join(module, 'main.go'), goProgram)
  await outputOf(go, ['mod', 'init', 'example.com/read'], module)
  await outputOf(go, ['mod', 'tidy'], module)
  const read = await outputOf(go, ['run', '.', service.url, service.adminKey], module)
  expect(JSON.parse(read)).toEqual(shown)
}, 300_000)
