import { parse } from 'csv-parse/sync'
import type { Sample } from './sample.ts'

type Row = Record<string, string>

const ratByNetworkMode: Record<string, string> = {
  '5G': 'nr-nsa',
  LTE: 'lte',
  'HSPA+': 'hspa',
  HSPA: 'hspa',
  HSUPA: 'hspa',
  HSDPA: 'hspa',
  UMTS: 'umts',
  EDGE: 'gsm',
  GPRS: 'gsm',
}

/**
 * Parses a drive recorded once a second (the CSV of the MMSys 2020 5G dataset: `Timestamp,Longitude,Latitude,Speed,…`) and
 * returns the samples of a router on that drive: per row a `location` and a `cellular` sample with the time of the row (UTC,
 * epoch ms). Keeps order, duplicates and sentinels (`-`, -200, 2147483647). Skips rows without a valid time.
 */
export function readDrive(csv: string): Sample[] {
  const rows = parse(csv, { columns: true, skip_empty_lines: true, relax_column_count: true }) as Row[]
  return rows.flatMap((row) => {
    const ts = timeOf(row.Timestamp ?? '')
    return Number.isNaN(ts) ? [] : [locationOf(row, ts), cellularOf(row, ts)]
  })
}

/** `2020.02.13_15.02.01` as epoch milliseconds. */
function timeOf(text: string): number {
  const [date = '', time = ''] = text.split('_')
  return Date.parse(`${date.replaceAll('.', '-')}T${time.replaceAll('.', ':')}Z`)
}

function locationOf(row: Row, ts: number): Sample {
  const speedKmh = Number(row.Speed)
  return {
    ts,
    kind: 'location',
    lat: numberOrText(row.Latitude),
    lon: numberOrText(row.Longitude),
    speedMps: Number.isFinite(speedKmh) ? Math.round((speedKmh / 3.6) * 100) / 100 : row.Speed,
    source: 'gnss',
  }
}

function cellularOf(row: Row, ts: number): Sample {
  const sample: Sample = {
    ts,
    kind: 'cellular',
    rat: ratByNetworkMode[row.NetworkMode ?? ''] ?? row.NetworkMode,
    operatorName: row.Operatorname,
    cellId: row.RAWCELLID,
    tac: row.LACHEX === undefined || row.LACHEX === '-' ? row.LACHEX : `0x${row.LACHEX}`,
    rsrpDbm: numberOrText(row.RSRP),
    rsrqDb: numberOrText(row.RSRQ),
    sinrDb: numberOrText(row.SNR),
    cqi: numberOrText(row.CQI),
    rssiDbm: numberOrText(row.RSSI),
  }
  if (row.NRxRSRP !== '-') sample.nrRsrpDbm = numberOrText(row.NRxRSRP)
  if (row.NRxRSRQ !== '-') sample.nrRsrqDb = numberOrText(row.NRxRSRQ)
  return sample
}

/** Converts numbers and keeps "no value" words, as the firmware of a router does. */
const numberOrText = (text: string | undefined): number | string | undefined =>
  text === undefined || text.trim() === '' || !Number.isFinite(Number(text)) ? text : Number(text)
