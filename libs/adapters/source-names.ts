/** The protocols other than ours, as they are named in metrics. */
export type SourceName =
  | 'cradlepoint'
  | 'gpsd'
  | 'influx'
  | 'inhand'
  | 'modemmanager'
  | 'nmea'
  | 'openwisp'
  | 'otlp'
  | 'teltonika'
