import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'

/** A telemetry sample as a router sends it. */
export type DriveSample = { ts: number; kind: 'cellular' | 'location' } & Record<string, string | number>

/** A recorded drive: the measurements of a router, one per second, with its original notation of missing values. */
export type Drive = { name: string; samples: DriveSample[] }

const driveFolder = join(import.meta.dirname, '../../../shared/data/ucc5g')

/** The reason why the recorded drives are not available; null if they are. */
export const drivesMissing: string | null = existsSync(driveFolder)
  ? null
  : 'The recorded drives are not beside the repository (../shared/data/ucc5g).'

const rats: Record<string, string> = {
  '5G': 'nr-nsa',
  LTE: 'lte',
  'HSPA+': 'hspa',
  HSDPA: 'hspa',
  HSUPA: 'hspa',
  HSPA: 'hspa',
  UMTS: 'umts',
  GPRS: 'gsm',
  EDGE: 'gsm',
}

/** Some drives are from 2019, but the service rejects times before 2020. All drives are shifted by six times 365 days. */
const laterMs = 6 * 365 * 86_400_000

/** `2020.02.13_15.02.01`, read as UTC. */
function timestampMs(text: string): number {
  const [date = '', time = ''] = text.split('_')
  return Date.parse(`${date.replaceAll('.', '-')}T${time.replaceAll('.', ':')}Z`) + laterMs
}

type Line = Record<string, string>

function cellular(line: Line, ts: number): DriveSample {
  const { NetworkMode = '', Operatorname = '', RAWCELLID = '', LACHEX = '' } = line
  return {
    ts,
    kind: 'cellular',
    rat: rats[NetworkMode] ?? NetworkMode,
    operatorName: Operatorname,
    cellId: RAWCELLID,
    tac: LACHEX === '-' ? LACHEX : `0x${LACHEX}`,
    rsrpDbm: line.RSRP ?? '',
    rsrqDb: line.RSRQ ?? '',
    sinrDb: line.SNR ?? '',
    cqi: line.CQI ?? '',
    rssiDbm: line.RSSI ?? '',
    nrRsrpDbm: line.NRxRSRP ?? '',
    nrRsrqDb: line.NRxRSRQ ?? '',
  }
}

const location = (line: Line, ts: number): DriveSample => ({
  ts,
  kind: 'location',
  lat: line.Latitude ?? '',
  lon: line.Longitude ?? '',
  fix: '3d',
  speedMps: Number(line.Speed) / 3.6,
  source: 'gnss',
})

function readDrive(file: string): Drive {
  const lines = parse(readFileSync(join(driveFolder, file)), { columns: true }) as Line[]
  const samples = lines.flatMap((line) => {
    const ts = timestampMs(line.Timestamp ?? '')
    return [cellular(line, ts), location(line, ts)]
  })
  return { name: file.replace('.csv', ''), samples }
}

/** Returns the recorded drives in `../shared/data`, with one cellular and one location sample per second; empty if missing. */
export function readDrives(): Drive[] {
  if (drivesMissing !== null) return []
  return readdirSync(driveFolder)
    .filter((file) => /^driving-\d+\.csv$/.test(file))
    .sort()
    .map(readDrive)
}
