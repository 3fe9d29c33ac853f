import { type Conversion, derived, digits, modemName, noValue, number, text, unusable, words } from '../conversions.ts'
import type { MakerTable } from '../mapping.ts'
import { knots, nmeaDegrees } from '../nmea/degrees.ts'
import { simPlmn } from '../plmn.ts'

export const services = words({
  '5G SA': 'nr-sa',
  '5G NSA': 'nr-nsa',
  '5G': 'nr-nsa',
  '5G-SA': 'nr-sa',
  '5G-NSA': 'nr-nsa',
  LTE: 'lte',
  'LTE-A': 'lte',
  'LTE+': 'lte',
  'HSPA+': 'hspa',
  HSPA: 'hspa',
  HSDPA: 'hspa',
  HSUPA: 'hspa',
  UMTS: 'umts',
  WCDMA: 'umts',
  EDGE: 'gsm',
  GPRS: 'gsm',
  GSM: 'gsm',
  'No Service': 'none',
  None: 'none',
})

const connectionStates = words({
  connected: 'connected',
  connecting: 'connecting',
  disconnecting: 'disconnected',
  disconnected: 'disconnected',
})

/** A line that the router sends to a server of positions. */
export const lineTable: MakerTable = {
  title: 'A line over TCP',
  at: '',
  source:
    'Cradlepoint GPS client: `id,hhmmss,latitude,N/S,longitude,E/W,speed,course,carrier,service,rsrp,rssi,rsrq,ecio,wanIp`',
  noValue: ['', ',', ',N', ',E'],
  mappings: [
    { from: 'latitude', to: ['location.lat'], as: nmeaDegrees },
    { from: 'longitude', to: ['location.lon'], as: nmeaDegrees },
    { from: 'speed', to: ['location.speedMps'], as: knots },
    { from: 'course', to: ['location.headingDeg'], as: number },
    { from: 'carrier', to: ['cellular.operatorName'], as: text },
    { from: 'service', to: ['cellular.rat'], as: services },
    { from: 'rsrp', to: ['cellular.rsrpDbm'], as: number },
    { from: 'rssi', to: ['cellular.rssiDbm'], as: number },
    { from: 'rsrq', to: ['cellular.rsrqDb'], as: number },
    { from: 'wanIp', to: ['connection.wanIp'], as: text },
  ],
}

/** Returns our word for the details of 5G, such as `NSA - 5G Sub-6 GHz`. */
function ratOfDetails(details: unknown): unknown {
  if (typeof details !== 'string') return unusable
  const mode = /^(N?SA)\b/i.exec(details.trim())?.[1]
  return mode === undefined ? noValue : `nr-${mode.toLowerCase()}`
}

/** An identifier that may have its hexadecimal digits behind it, such as `12345 (0x3039)`. */
const beforeHex = ({ description, read }: Conversion): Conversion =>
  derived(`${description}, before \` (0x…)\``, (value) =>
    read(typeof value === 'string' ? value.replace(/ \(0x[0-9a-f]{1,12}\)/i, '') : value),
  )

/** The diagnostics of a modem. All values are text. `uid` is the name of its net device. */
export const diagnosticsTable: MakerTable = {
  title: 'The diagnostics of a modem',
  at: '',
  source: 'NCOS `status/wan/devices`',
  noValue: ['', 'N/A', '--', 'None', 'Unknown'],
  mappings: [
    { from: 'uid', to: ['cellular.modem', 'connection.modem'], as: modemName },
    { from: 'connection_state', to: ['connection.state'], as: connectionStates },
    { from: 'CARRID', to: ['cellular.operatorName', 'connection.operatorName'], as: text },
    {
      from: 'SRVC_TYPE_DETAILS',
      to: ['cellular.rat', 'connection.rat'],
      as: derived('SA - … → nr-sa, NSA - … → nr-nsa', ratOfDetails),
    },
    { from: 'SRVC_TYPE', to: ['cellular.rat', 'connection.rat'], as: services },
    { from: 'DBM', to: ['cellular.rssiDbm'], as: number },
    { from: 'RSRP', to: ['cellular.rsrpDbm'], as: number },
    { from: 'RSRQ', to: ['cellular.rsrqDb'], as: number },
    { from: 'SINR', to: ['cellular.sinrDb'], as: number },
    { from: 'RSRP_5G', to: ['cellular.nrRsrpDbm'], as: number },
    { from: 'RSRQ_5G', to: ['cellular.nrRsrqDb'], as: number },
    { from: 'SINR_5G', to: ['cellular.nrSinrDb'], as: number },
    { from: 'RFBAND_5G', to: ['cellular.nrBand'], as: text },
    { from: 'RSRP_5G-alone', to: ['cellular.rsrpDbm'], as: number },
    { from: 'RSRQ_5G-alone', to: ['cellular.rsrqDb'], as: number },
    { from: 'SINR_5G-alone', to: ['cellular.sinrDb'], as: number },
    { from: 'RFBAND_5G-alone', to: ['cellular.band'], as: text },
    { from: 'SS', to: ['cellular.signalPercent'], as: number },
    { from: 'RFBAND', to: ['cellular.band'], as: text },
    { from: 'RFCHANNEL', to: ['cellular.arfcn'], as: number },
    { from: 'CELL_ID', to: ['cellular.cellId'], as: beforeHex(digits) },
    { from: 'TAC', to: ['cellular.tac'], as: beforeHex(digits) },
    { from: 'LAC', to: ['cellular.tac'], as: beforeHex(digits) },
    { from: 'PHY_CELL_ID', to: ['cellular.pci'], as: beforeHex(number) },
    { from: 'CUR_PLMN', to: ['cellular.plmn', 'connection.plmn'], as: digits },
    { from: 'ICCID', to: ['connection.iccid'], as: text },
    { from: 'IMSI', to: ['connection.imsi'], as: text },
    { from: 'IMSI', to: ['cellular.simPlmn', 'connection.simPlmn'], as: simPlmn },
    { from: 'MODEMTEMP', to: ['system.modemTemperatureC'], as: number },
    { from: 'ACTIVEAPN', to: ['connection.apn'], as: text },
  ],
}
