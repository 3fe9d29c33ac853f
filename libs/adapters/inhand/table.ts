import {
  derived,
  digits,
  hexDigits,
  modemName,
  nonZero,
  number,
  registrationStates,
  text,
  words,
} from '../conversions.ts'
import type { MakerTable } from '../mapping.ts'
import { simPlmn } from '../plmn.ts'
import { epochMs } from '../times.ts'

/** A message of FlexAPI. The names before the dot are those of its members, such as `gnss.latitude`. */
export const flexApiTable: MakerTable = {
  title: 'A message',
  at: '',
  source: 'InHand FlexAPI of VG and VT gateways: `gnss`, `cellular1` and `sysinfo` messages',
  noValue: ['', '0.0.0.0'],
  mappings: [
    { from: 'gnss.latitude', to: ['location.lat'], as: number },
    { from: 'gnss.longitude', to: ['location.lon'], as: number },
    { from: 'lat', to: ['location.lat'], as: number },
    { from: 'log', to: ['location.lon'], as: number },
    { from: 'gnss.altitude', to: ['location.altitudeM'], as: number },
    { from: 'gnss.heading', to: ['location.headingDeg'], as: number },
    { from: 'gnss.hdop', to: ['location.hdop'], as: number },
    { from: 'gnss.num_sv', to: ['location.satellites'], as: number },
    { from: 'gnss.fix', to: ['location.fix'], as: words({ 0: 'none', 1: null, 2: null, 3: null, 4: null, 5: null }) },
    { from: 'gnss.ts', to: ['location.fixTs'], as: derived('epoch in s; also the time of the position', epochMs) },
    { from: 'time', to: ['location.fixTs'], as: derived('epoch in s; also the time of the position', epochMs) },
    { from: 'modem', to: ['cellular.modem', 'connection.modem'], as: modemName },
    { from: 'modem1.imsi', to: ['connection.imsi'], as: text },
    { from: 'modem1.imsi', to: ['cellular.simPlmn', 'connection.simPlmn'], as: simPlmn },
    { from: 'modem1.iccid', to: ['connection.iccid'], as: text },
    {
      from: 'modem1.reg_status',
      to: ['connection.registration'],
      as: words(registrationStates),
    },
    { from: 'modem1.operator', to: ['cellular.plmn', 'connection.plmn'], as: digits },
    {
      from: 'modem1.network',
      to: ['cellular.rat', 'connection.rat'],
      as: words({ 0: null, 1: 'gsm', 2: 'umts', 3: 'lte' }),
    },
    { from: 'modem1.lac', to: ['cellular.tac'], as: hexDigits },
    { from: 'modem1.cell_id', to: ['cellular.cellId'], as: hexDigits },
    { from: 'modem1.rssi', to: ['cellular.rssiDbm'], as: nonZero },
    { from: 'modem1.rsrp', to: ['cellular.rsrpDbm'], as: nonZero },
    { from: 'modem1.rsrq', to: ['cellular.rsrqDb'], as: nonZero },
    { from: 'cellular1.ip', to: ['connection.wanIp'], as: text },
    { from: 'sysinfo.firmware_version', to: ['system.firmware'], as: text },
  ],
}
