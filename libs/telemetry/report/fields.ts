import type { Field, FieldValue } from './field-types.ts'
import { cellList, count, decimal, nameText, number, plmn, sensitiveText, text, time, word } from './field-types.ts'

const dayMs = 86_400_000

/** Serving cell, and each entry of `cells`. Ranges are 3GPP TS 36.133, 38.133 and 45.008 reporting ranges. */
const radioFields = {
  rat: word(
    ['gsm', 'umts', 'hspa', 'lte', 'lte-m', 'nb-iot', 'nr-nsa', 'nr-sa', 'none'],
    'Radio access technology; none means no service',
  ),
  plmn: plmn('Mobile country and network code'),
  operatorName: text('Name the network announces'),
  band: text('Band as the modem names it, such as B20 or n78'),
  arfcn: number(0, 3_279_165, '', 'Channel number: ARFCN, UARFCN, EARFCN or NR-ARFCN, as the RAT says'),
  bandwidthMhz: number(0, 400, 'MHz', 'Channel bandwidth'),
  pci: number(0, 1007, '', 'Physical cell id'),
  cellId: decimal(2 ** 36 - 1, 'Cell identity: CI, ECI or NCI'),
  tac: decimal(2 ** 24 - 1, 'Tracking or location area code'),
  rssiDbm: number(-120, -25, 'dBm', 'Received signal strength'),
  rsrpDbm: number(-156, -31, 'dBm', 'Reference signal received power'),
  rsrqDb: number(-43, 20, 'dB', 'Reference signal received quality'),
  sinrDb: number(-23, 40, 'dB', 'Signal to interference and noise ratio'),
  cqi: number(0, 15, '', 'Channel quality indicator'),
  signalPercent: number(0, 100, '%', 'Signal strength as the modem rates it'),
}

/** Which of the router's modems a sample is about. */
const modemFields = {
  modem: nameText(64, 'Name by which the router tells its modems apart; left out by a router with one modem'),
  simPlmn: plmn('Mobile country and network code of the operator that issued the SIM'),
}

/** The fields of an entry of `cells`. */
export const cellListFields = {
  role: word(['pcell', 'scell', 'pscell', 'neighbor'], 'What the cell is to the router'),
  ...radioFields,
} satisfies Record<string, Field>

/**
 * Everything a router can report, by kind. Types, cleaning, columns, encoding, OpenAPI and documentation follow from this
 * table: to add a field, add a line.
 */
export const fieldTable = {
  connection: {
    ...modemFields,
    state: word(
      ['connected', 'connecting', 'disconnected', 'searching', 'registered', 'disabled', 'failed'],
      'State of the uplink',
    ),
    interface: text('Interface the uplink runs on'),
    rat: radioFields.rat,
    registration: word(
      ['home', 'roaming', 'searching', 'denied', 'not_registered', 'emergency_only', 'unknown'],
      'Registration with the network',
    ),
    operatorName: radioFields.operatorName,
    plmn: radioFields.plmn,
    apn: text('Access point name'),
    simSlot: number(0, 15, '', 'SIM slot in use'),
    iccid: sensitiveText('Serial number of the SIM'),
    imsi: sensitiveText('Subscriber identity'),
    wanIp: sensitiveText('Address on the uplink'),
    uptimeS: count('s', 'How long the uplink has been up'),
    latencyMs: number(0, 600_000, 'ms', 'Round-trip time'),
    jitterMs: number(0, 600_000, 'ms', 'Variation of the round-trip time'),
    lossPct: number(0, 100, '%', 'Packets lost'),
    rxBytes: count('bytes', 'Bytes received since the uplink came up'),
    txBytes: count('bytes', 'Bytes sent since the uplink came up'),
  },
  cellular: {
    ...modemFields,
    ...radioFields,
    nrRsrpDbm: number(-156, -31, 'dBm', 'RSRP of the NR leg in EN-DC'),
    nrRsrqDb: number(-43, 20, 'dB', 'RSRQ of the NR leg in EN-DC'),
    nrSinrDb: number(-23, 40, 'dB', 'SINR of the NR leg in EN-DC'),
    nrArfcn: number(0, 3_279_165, '', 'NR-ARFCN of the NR leg in EN-DC'),
    nrPci: number(0, 1007, '', 'Physical cell id of the NR leg in EN-DC'),
    nrBand: text('Band of the NR leg in EN-DC'),
    cells: cellList(32, 'Carriers and neighbours seen beside the serving cell'),
    lat: number(-90, 90, '°', 'Latitude the router stamped on the sample (WGS 84)'),
    lon: number(-180, 180, '°', 'Longitude the router stamped on the sample (WGS 84)'),
    accuracyM: number(0, 100_000, 'm', 'Accuracy of the stamped position'),
    fixAgeMs: number(0, dayMs, 'ms', 'Age of the stamped position when the sample was taken'),
  },
  system: {
    cpuPct: number(0, 100, '%', 'Processor load'),
    memUsedPct: number(0, 100, '%', 'Memory in use'),
    diskUsedPct: number(0, 100, '%', 'Storage in use'),
    load1: number(0, 10_000, '', 'Load average over one minute'),
    temperatureC: number(-60, 150, '°C', 'Temperature of the board'),
    modemTemperatureC: number(-60, 150, '°C', 'Temperature of the modem'),
    inputVoltageV: number(0, 1000, 'V', 'Supply voltage'),
    uptimeS: count('s', 'Time since the router started'),
    firmware: text('Firmware version running'),
    rebootReason: text('Why the router last started'),
    clients: number(0, 100_000, '', 'Connected clients'),
    fault: text('What is wrong, when the router knows of a fault'),
  },
  location: {
    lat: number(-90, 90, '°', 'Latitude (WGS 84)'),
    lon: number(-180, 180, '°', 'Longitude (WGS 84)'),
    fix: word(['none', '2d', '3d'], 'Kind of fix'),
    fixTs: time('When the receiver made the fix; `ageMs` may be sent instead'),
    accuracyM: number(0, 100_000, 'm', 'Horizontal accuracy'),
    hdop: number(0, 100, '', 'Horizontal dilution of precision'),
    satellites: number(0, 200, '', 'Satellites used'),
    altitudeM: number(-500, 20_000, 'm', 'Altitude'),
    speedMps: number(0, 350, 'm/s', 'Speed over ground'),
    headingDeg: number(0, 360, '°', 'Course over ground, clockwise from north'),
    source: word(['gnss', 'cell', 'manual', 'fused'], 'Where the position comes from'),
  },
} satisfies Record<string, Record<string, Field>>

type FieldTable = typeof fieldTable
export type Kind = keyof FieldTable
/** All kinds, in the order in which samples of the same time are listed. */
export const kinds = ['cellular', 'connection', 'location', 'system'] as const satisfies readonly Kind[]

/** The fields of a kind as a clean row holds them: null where the router sent nothing usable. */
export type CleanFields<K extends Kind> = {
  [Name in keyof FieldTable[K]]: (FieldTable[K][Name] extends Field ? FieldValue<FieldTable[K][Name]> : never) | null
}

/**
 * Members of a sample that are not stored under their own name. `ageMs` becomes `ts` or `fixTs`. `tsCorrected`: an adapter has
 * corrected `ts`, because the router's clock was wrong.
 */
export const envelopeFields: ReadonlySet<string> = new Set(['ts', 'kind', 'ageMs', 'tsCorrected'])

/** Largest accepted `ageMs`. */
export const maxAgeMs = dayMs

/** The fields of a kind as a list, in table order. */
export const fieldsOf = (kind: Kind): [name: string, field: Field][] => Object.entries(fieldTable[kind])

export const isKind = (word: unknown): word is Kind => typeof word === 'string' && Object.hasOwn(fieldTable, word)

/** Fields only shown to callers with the scope `device:sensitive`; masked for everyone else. */
export const sensitiveFieldNames: readonly string[] = kinds.flatMap((kind) =>
  fieldsOf(kind).flatMap(([name, field]) => (field.type === 'text' && field.sensitive ? [name] : [])),
)
