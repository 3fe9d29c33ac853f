import type { Device } from '#fleet/device-rows'

type Cell = string | number | null | undefined

const columns: Record<string, (device: Device) => Cell> = {
  id: (device) => device.id,
  organizationId: (device) => device.organizationId,
  serial: (device) => device.serial,
  name: (device) => device.name,
  model: (device) => device.model,
  tags: (device) => device.tags.join(';'),
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

/** How an export begins, and how each device continues it. */
export const exportFormats = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    head: `${Object.keys(columns).join(',')}\r\n`,
    line: (device: Device) =>
      `${Object.values(columns)
        .map((cellOf) => csvCell(cellOf(device)))
        .join(',')}\r\n`,
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    head: '',
    line: (device: Device) => `${JSON.stringify(device)}\n`,
  },
} as const

/**
 * One CSV cell (RFC 4180). Text that a spreadsheet would run as a formula gets an apostrophe in front, as OWASP advises;
 * numbers are never text.
 */
export function csvCell(value: Cell): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const harmless = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n;']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
