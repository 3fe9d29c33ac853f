import type { Device } from '#fleet/devices/device'
import { type CsvValue, csvLines } from '../http/csv.ts'
import { cellOfTags, cellOfText } from './csv-cells.ts'

const columns: Record<string, (device: Device) => CsvValue> = {
  id: (device) => device.id,
  organizationId: (device) => device.organizationId,
  serial: (device) => cellOfText(device.serial),
  name: (device) => cellOfText(device.name),
  model: (device) => cellOfText(device.model),
  tags: (device) => cellOfText(cellOfTags(device.tags)),
  status: (device) => device.status,
  lastSeenAt: (device) => device.lastSeenAt,
  firmware: (device) => device.firmware,
  configProfileId: (device) => device.configProfile?.id,
  configProfileVersion: (device) => device.configProfile?.version,
  lat: (device) => device.location?.lat,
  lon: (device) => device.location?.lon,
  locationTs: (device) => device.location?.ts,
  createdAt: (device) => device.createdAt,
  updatedAt: (device) => device.updatedAt,
}
const cells = Object.values(columns)

/** The names of the columns. An import accepts them and ignores those that it cannot set. */
export const exportColumns = Object.keys(columns)

/** The media type of each export format, how the file begins, and the text of some devices. */
export const exportFormats = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    head: csvLines([exportColumns]),
    lines: (devices: readonly Device[]) => csvLines(devices.map((device) => cells.map((cellOf) => cellOf(device)))),
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    head: '',
    lines: (devices: readonly Device[]) => devices.map((device) => `${JSON.stringify(device)}\n`).join(''),
  },
} as const
