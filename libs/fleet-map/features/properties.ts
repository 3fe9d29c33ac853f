import type { Near } from '#core/near'
import type { CollectionId } from '#fleet-map/features/collections'

type PropertyType = 'string' | 'number' | 'integer' | 'boolean' | 'date-time'
type Properties = Record<string, PropertyType>

const position: Properties = { lat: 'number', lon: 'number' }
/** The members of the nearest town. Their properties begin with `near_`. */
export const townTypes: Record<keyof Near, PropertyType> = {
  name: 'string',
  country: 'string',
  distanceKm: 'number',
  bearing: 'integer',
}
const signalOfTime: Properties = { rsrpP50Dbm: 'number', sinrP50Db: 'number', noServiceS: 'number' }

const prefixed = (prefix: string, properties: Properties): Properties =>
  Object.fromEntries(Object.entries(properties).map(([name, type]) => [`${prefix}_${name}`, type]))

const near = prefixed('near', townTypes)

// Ages are numbers, because some programs have integers of 32 bits only.
const location: Properties = {
  ...position,
  ...{ fix: 'string', ts: 'date-time', ageMs: 'number' },
  ...{ accuracyM: 'number', speedMps: 'number', headingDeg: 'number' },
}
const signal: Properties = {
  ...{ ts: 'date-time', ageMs: 'number', modem: 'string', rat: 'string', plmn: 'string', operatorName: 'string' },
  ...{ rsrpDbm: 'number', rsrqDb: 'number', sinrDb: 'number', nrRsrpDbm: 'number' },
  ...{ quality: 'string', qualityBasis: 'string', alignment: 'string', alignErrorM: 'number' },
  ...position,
  completedFrom: 'date-time',
}

/**
 * The properties of each collection with their types. Any of them can be null. Programs take a type from here, because the first
 * features that they read can be without a value.
 */
export const featureProperties: Record<CollectionId, Properties> = {
  devices: {
    ...{ feature: 'string', deviceId: 'string', organizationId: 'string', name: 'string', status: 'string' },
    ...prefixed('location', location),
    ...prefixed('signal', signal),
    ...prefixed('dwell', { arrivedAt: 'date-time', durationS: 'integer', ...position, radiusM: 'number' }),
  },
  dwells: {
    ...{ feature: 'string', dwellId: 'string', deviceId: 'string' },
    ...{ arrivedAt: 'date-time', departedAt: 'date-time', firstOutsideAt: 'date-time', durationS: 'integer' },
    ...position,
    ...{ radiusM: 'number', fixCount: 'integer', gap: 'boolean' },
    ...signalOfTime,
    ...near,
    placeNames: 'string',
  },
  trips: {
    ...{ feature: 'string', deviceId: 'string', departedAt: 'date-time', arrivedAt: 'date-time' },
    ...{ distanceM: 'integer', durationS: 'integer', gap: 'boolean' },
    ...signalOfTime,
    ...prefixed('from', { ...position, placeId: 'string', placeName: 'string', ...near }),
    ...prefixed('to', { ...position, placeId: 'string', placeName: 'string', ...near }),
  },
  coverage: {
    ...{ feature: 'string', h3: 'string', samples: 'integer', devices: 'integer', serviceRatio: 'number' },
    ...prefixed('rsrpDbm', { p10: 'number', p50: 'number', p90: 'number' }),
    ...prefixed('sinrDb', { p10: 'number', p50: 'number' }),
    ...{ quality: 'string', confidence: 'string', lastAt: 'date-time' },
  },
  'dead-zones': {
    ...{ feature: 'string', zoneId: 'string', ...position, cells: 'string', areaKm2: 'number' },
    ...{ samples: 'integer', noServiceS: 'integer', serviceRatio: 'number', devices: 'integer' },
    ...{ worstPlmn: 'string', bestPlmn: 'string', lastAt: 'date-time' },
    ...near,
  },
}
