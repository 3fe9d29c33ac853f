import { number, words } from '../conversions.ts'
import type { MakerTable } from '../mapping.ts'
import { knots, nmeaDegrees } from './degrees.ts'

/** The mode of the receiver: N is "not valid", whatever the status says. */
const modes = words({ N: 'none', A: null, D: null, E: null, F: null, M: null, P: null, R: null, S: null })

/** All sentences of one time, by type. The names of their fields are in `fields.ts`. */
export const sentencesTable: MakerTable = {
  title: 'The sentences of one time',
  at: '',
  source: 'NMEA 0183: sentences GGA, GNS, RMC, GLL, GSA, VTG and GST of any talker',
  noValue: ['', ',', ',N', ',E'],
  mappings: [
    { from: 'RMC.mode', to: ['location.fix'], as: modes },
    { from: 'GNS.mode', to: ['location.fix'], as: modes },
    { from: 'GLL.mode', to: ['location.fix'], as: modes },
    { from: 'RMC.status', to: ['location.fix'], as: words({ V: 'none', A: null }) },
    { from: 'GLL.status', to: ['location.fix'], as: words({ V: 'none', A: null }) },
    {
      from: 'GGA.quality',
      to: ['location.fix'],
      as: words({ 0: 'none', 1: null, 2: null, 3: null, 4: null, 5: null, 6: null, 7: null, 8: null }),
    },
    { from: 'GSA.fix', to: ['location.fix'], as: words({ 1: 'none', 2: '2d', 3: '3d' }) },
    { from: 'GGA.latitude', to: ['location.lat'], as: nmeaDegrees },
    { from: 'GGA.longitude', to: ['location.lon'], as: nmeaDegrees },
    { from: 'GNS.latitude', to: ['location.lat'], as: nmeaDegrees },
    { from: 'GNS.longitude', to: ['location.lon'], as: nmeaDegrees },
    { from: 'RMC.latitude', to: ['location.lat'], as: nmeaDegrees },
    { from: 'RMC.longitude', to: ['location.lon'], as: nmeaDegrees },
    { from: 'GLL.latitude', to: ['location.lat'], as: nmeaDegrees },
    { from: 'GLL.longitude', to: ['location.lon'], as: nmeaDegrees },
    { from: 'GGA.altitude', to: ['location.altitudeM'], as: number },
    { from: 'GNS.altitude', to: ['location.altitudeM'], as: number },
    { from: 'GGA.satellites', to: ['location.satellites'], as: number },
    { from: 'GNS.satellites', to: ['location.satellites'], as: number },
    { from: 'GGA.hdop', to: ['location.hdop'], as: number },
    { from: 'GNS.hdop', to: ['location.hdop'], as: number },
    { from: 'GSA.hdop', to: ['location.hdop'], as: number },
    { from: 'RMC.speed', to: ['location.speedMps'], as: knots },
    { from: 'VTG.speed', to: ['location.speedMps'], as: knots },
    { from: 'RMC.course', to: ['location.headingDeg'], as: number },
    { from: 'VTG.course', to: ['location.headingDeg'], as: number },
    { from: 'GST.error', to: ['location.accuracyM'], as: number },
  ],
}
