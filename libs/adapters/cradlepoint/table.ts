import { number, text, words } from '../conversions.ts'
import type { MakerTable } from '../mapping.ts'
import { knots, nmeaDegrees } from '../nmea/degrees.ts'

const services = words({
  '5G SA': 'nr-sa',
  '5G NSA': 'nr-nsa',
  '5G': 'nr-nsa',
  LTE: 'lte',
  'LTE-A': 'lte',
  'HSPA+': 'hspa',
  HSPA: 'hspa',
  UMTS: 'umts',
  WCDMA: 'umts',
  EDGE: 'gsm',
  GPRS: 'gsm',
  GSM: 'gsm',
  'No Service': 'none',
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

/** The diagnostics of a modem. All values are text. */
export const diagnosticsTable: MakerTable = {
  title: 'The diagnostics of a modem',
  at: '',
  source: 'NCOS `status/wan/devices/…/diagnostics`',
  noValue: ['', 'N/A', '--', 'None'],
  mappings: [
    { from: 'CARRID', to: ['cellular.operatorName', 'connection.operatorName'], as: text },
    { from: 'SRVC_TYPE', to: ['cellular.rat', 'connection.rat'], as: services },
    { from: 'DBM', to: ['cellular.rssiDbm'], as: number },
    { from: 'RSRP', to: ['cellular.rsrpDbm'], as: number },
    { from: 'RSRQ', to: ['cellular.rsrqDb'], as: number },
    { from: 'SINR', to: ['cellular.sinrDb'], as: number },
    { from: 'SS', to: ['cellular.signalPercent'], as: number },
    { from: 'RFBAND', to: ['cellular.band'], as: text },
    { from: 'ACTIVEAPN', to: ['connection.apn'], as: text },
  ],
}
