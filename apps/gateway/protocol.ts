import { adapterOf } from '#adapters/adapters'
import type { SourceName } from '#adapters/source-names'
import { reportPath } from '#device-edge/contract'

/** The protocol of a report: our own format, or that of an adapter that reads bodies without parameters. */
export type Protocol =
  | 'routerfleet'
  | Extract<SourceName, 'cradlepoint' | 'gpsd' | 'inhand' | 'modemmanager' | 'nmea' | 'teltonika'>

/** The protocols of positions, of which each line can be a part of one. */
export type PositionProtocol = Extract<Protocol, 'cradlepoint' | 'gpsd' | 'nmea'>

export const protocols: readonly Protocol[] = [
  'routerfleet',
  'cradlepoint',
  'gpsd',
  'inhand',
  'modemmanager',
  'nmea',
  'teltonika',
]

/** Returns the path of the device edge for reports of a protocol. */
export const reportPathOf = (protocol: Protocol): string =>
  protocol === 'routerfleet' ? reportPath : adapterOf(protocol).path
