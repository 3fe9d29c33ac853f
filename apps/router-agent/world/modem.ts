import type { Sample } from '../sample.ts'
import { uniform } from './noise.ts'
import { type Cell, cellIdentity, type Reception } from './radio.ts'

/** How the firmware of a modem represents a missing value. */
export type MissingValue = 'absent' | 'minus200' | 'int32max' | 'dash' | 'ninetyNine'

const missingWords: Record<Exclude<MissingValue, 'absent'>, unknown> = {
  minus200: -200,
  int32max: 2_147_483_647,
  dash: '-',
  ninetyNine: 99,
}

/** Share of readings without SINR, as real modems report during a handover. */
const missingShare = 0.004

/** Returns a `cellular` sample as a modem reports it, with its rounding and its representation of missing values. */
export function readModem(reception: Reception, ts: number, missing: MissingValue, seed: number): Sample {
  const { rat, serving, nr } = reception
  const none = missing === 'absent' ? {} : { rsrpDbm: missingWords[missing], sinrDb: missingWords[missing] }
  if (!serving) return { ts, kind: 'cellular', rat, ...none }
  const { site } = serving
  const network = {
    plmn: site.plmn,
    operatorName: operatorName(site.plmn),
    cellId: cellIdentity(serving),
    tac: site.tac,
  }
  if (rat === 'umts') {
    return {
      ts,
      kind: 'cellular',
      rat,
      ...network,
      band: '8',
      arfcn: 2_938,
      rssiDbm: round(reception.rssiDbm),
      ...none,
    }
  }
  const sinrDb = tenths(clamp(reception.sinrDb, -20, 30))
  return {
    ts,
    kind: 'cellular',
    rat,
    ...network,
    band: site.band,
    arfcn: site.arfcn,
    bandwidthMhz: site.bandwidthMhz,
    pci: site.firstPci + serving.sector,
    rssiDbm: clamp(round(reception.rssiDbm), -113, -30),
    rsrpDbm: clamp(round(serving.rsrpDbm), -140, -44),
    rsrqDb: clamp(tenths(reception.rsrqDb), -20, -3),
    sinrDb,
    cqi: clamp(round((sinrDb + 6) / 1.9), 0, 15),
    signalPercent: clamp(round(((serving.rsrpDbm + 125) / 60) * 100), 0, 100),
    ...(uniform(seed, ts) < missingShare ? { sinrDb: none.sinrDb } : {}),
    ...(nr
      ? {
          nrRsrpDbm: clamp(round(nr.rsrpDbm), -140, -44),
          nrRsrqDb: tenths(nr.rsrqDb),
          nrSinrDb: tenths(clamp(nr.sinrDb, -20, 35)),
          nrArfcn: 636_666,
          nrPci: site.firstPci + 504 + serving.sector,
          nrBand: 'n78',
        }
      : {}),
    cells: [cellEntry('pcell', serving), ...reception.neighbours.map((cell) => cellEntry('neighbor', cell))],
  }
}

const cellEntry = (role: 'pcell' | 'neighbor', cell: Cell) => ({
  role,
  pci: cell.site.firstPci + cell.sector,
  arfcn: cell.site.arfcn,
  rsrpDbm: clamp(round(cell.rsrpDbm), -140, -44),
})

const operatorNames = ['Alpha Mobile', 'Beta Telecom', 'Gamma Wireless', 'Delta Cellular']

/** Invented names, so that the demo does not seem to show the coverage of real operators. */
const operatorName = (plmn: string): string => operatorNames[Number(plmn) % operatorNames.length] ?? plmn

const round = Math.round
const tenths = (value: number): number => Math.round(value * 10) / 10
const clamp = (value: number, from: number, to: number): number => Math.max(from, Math.min(to, value))
