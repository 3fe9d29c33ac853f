import { diagnosticsTable, lineTable } from './cradlepoint/table.ts'
import { skyTable, tpvTable } from './gpsd/table.ts'
import { flexApiTable } from './inhand/table.ts'
import type { MakerTable } from './mapping.ts'
import { modemManagerTable } from './modemmanager/table.ts'
import { sentencesTable } from './nmea/table.ts'
import { deviceTable, interfaceTable, modemTable } from './openwisp/table.ts'
import { publisherTable, recordTable } from './teltonika/table.ts'

/** The mapping tables of all makers. */
export const makerTables: readonly MakerTable[] = [
  deviceTable,
  modemTable,
  interfaceTable,
  recordTable,
  publisherTable,
  modemManagerTable,
  flexApiTable,
  lineTable,
  diagnosticsTable,
  sentencesTable,
  tpvTable,
  skyTable,
]
