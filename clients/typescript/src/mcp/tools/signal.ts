import { z } from 'zod'
import { findDeviceOf } from '../../cli/find-device.ts'
import { modelSegment } from '../../cli/model-segment.ts'
import { type Cell, table } from '../../cli/table.ts'
import { deviceOutput, deviceReference } from '../device-reference.ts'
import { tool } from '../tool.ts'

const decibels = z.number().nullable()
const word = z.string().nullable()

// Without identifiers of the SIM and addresses, whatever the key may read.
const cellular = z.object({
  ts: z.string(),
  modem: word.describe('The active modem, whose signal this is. Null for a router that does not name its modem.'),
  rat: word,
  operatorName: word,
  plmn: word,
  band: word,
  rsrpDbm: decibels,
  rsrqDb: decibels,
  sinrDb: decibels,
  quality: word.describe('The class of the signal: none, poor, fair, good or excellent.'),
})
const location = z.object({
  ts: z.string(),
  lat: z.number().nullable(),
  lon: z.number().nullable(),
  accuracyM: z.number().nullable(),
})

/** `device_signal`. */
export const deviceSignalTool = tool({
  name: 'device_signal',
  title: 'Signal of a device',
  description:
    'Returns the newest cellular signal of one router’s active modem, and its position, with the times of measurement.',
  input: z.strictObject({ device: deviceReference }),
  output: z.object({ device: deviceOutput, cellular: cellular.nullable(), location: location.nullable() }),
  about: ({ device }) => device,
  async run({ session: { client }, organizationId }, { device: reference }) {
    const device = await findDeviceOf(client, organizationId, reference)
    const params = { path: { modelSegment, deviceId: device.id } }
    const latest = await client.get('/api/{modelSegment}/{deviceId}/telemetry/latest', { params })
    const rows = [
      ...rowsOf('signal', cellular.nullable().parse(latest.cellular)),
      ...rowsOf('position', location.nullable().parse(latest.location)),
    ]
    const text = table(['OF', 'VALUE', ''], rows, 'The router reported neither signal nor position.')
    const value = { device, cellular: latest.cellular, location: latest.location }
    return { value, text: `${device.name} (${device.serial}) is ${device.status}.\n\n${text}` }
  },
})

const rowsOf = (kind: string, sample: Record<string, Cell> | null): Cell[][] =>
  Object.entries(sample ?? {}).map(([name, value]) => [kind, name, value])
