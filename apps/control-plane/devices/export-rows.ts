import type { ListedDevice, ListPart } from '#fleet-map/device-list/list-details'
import { type CsvValue, csvLines } from '../http/csv.ts'
import { cellOfTags, cellOfText } from './csv-cells.ts'

type Columns = Record<string, (device: ListedDevice) => CsvValue>

const columns: Columns = {
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
  notes: (device) => cellOfText(device.notes ?? ''),
}

/** The columns of the parts that an export can include. */
const partColumns: Record<ListPart, Columns> = {
  signal: {
    signalQuality: ({ signal }) => signal?.quality,
    rsrpDbm: ({ signal }) => signal?.rsrpDbm,
    sinrDb: ({ signal }) => signal?.sinrDb,
    rat: ({ signal }) => signal?.rat,
    operator: ({ signal }) => cellOfText(signal?.operatorName ?? ''),
    plmn: ({ signal }) => signal?.plmn,
    signalTs: ({ signal }) => signal?.ts,
    modem: ({ signal }) => cellOfText(signal?.modem ?? ''),
    modems: ({ modems }) => modems?.count,
    modemsWithoutService: ({ modems }) => modems?.withoutService,
  },
  near: {
    nearName: ({ near }) => cellOfText(near?.name ?? ''),
    nearCountry: ({ near }) => near?.country,
    nearDistanceKm: ({ near }) => near?.distanceKm,
    nearBearing: ({ near }) => near?.bearing,
  },
  dataUse: {
    dataTodayBytes: ({ dataUse }) => dataUse?.todayBytes,
    dataMonthBytes: ({ dataUse }) => dataUse?.monthBytes,
    dataMeasuredAt: ({ dataUse }) => dataUse?.measuredAt,
  },
}

/** The names of all columns. An import accepts them and ignores those that it cannot set. */
export const exportColumns = [columns, ...Object.values(partColumns)].flatMap((some) => Object.keys(some))

/** An export format: its media type, how the file begins, and the text of some devices. */
type ExportFormat = { mediaType: string; head: string; lines: (devices: readonly ListedDevice[]) => string }

/** The format of an export that includes these parts. */
export function exportFormat(format: 'csv' | 'ndjson', include: readonly ListPart[]): ExportFormat {
  if (format === 'ndjson')
    return {
      mediaType: 'application/x-ndjson',
      head: '',
      lines: (devices) => devices.map((device) => `${JSON.stringify(device)}\n`).join(''),
    }
  const shown: Columns = Object.assign({}, columns, ...include.map((part) => partColumns[part]))
  const cells = Object.values(shown)
  return {
    mediaType: 'text/csv; charset=utf-8',
    head: csvLines([Object.keys(shown)]),
    lines: (devices) => csvLines(devices.map((device) => cells.map((cellOf) => cellOf(device)))),
  }
}
