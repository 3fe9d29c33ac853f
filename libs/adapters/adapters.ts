import type { Adapter } from './adapter.ts'
import { cradlepoint } from './cradlepoint/adapter.ts'
import { gpsd } from './gpsd/adapter.ts'
import { influx } from './influx/adapter.ts'
import { inhand } from './inhand/adapter.ts'
import { modemmanager } from './modemmanager/adapter.ts'
import { nmea } from './nmea/adapter.ts'
import { openwisp } from './openwisp/adapter.ts'
import { otlp } from './otlp/adapter.ts'
import type { SourceName } from './source-names.ts'
import { teltonika } from './teltonika/adapter.ts'

/** All adapters. */
export const adapters: readonly Adapter[] = [
  openwisp,
  influx,
  teltonika,
  otlp,
  modemmanager,
  inhand,
  cradlepoint,
  nmea,
  gpsd,
]

const bySource = new Map<SourceName, Adapter>(adapters.map((adapter) => [adapter.source, adapter]))

/** Returns the adapter of a source. Throws if there is none. */
export function adapterOf(source: SourceName): Adapter {
  const adapter = bySource.get(source)
  if (!adapter) throw new Error(`There is no adapter for ${source}.`)
  return adapter
}
