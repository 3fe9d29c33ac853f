import { dataSize, duration, measured } from '../../components/format.ts'
import { isObject } from '../../state/profile-settings.ts'

/** A value with its name in words. */
export type NamedValue = { name: string; text: string }

const unitWords: Record<string, (value: number) => string> = {
  S: duration,
  Ms: (value) => measured(value, 'ms'),
  Mbps: (value) => measured(value, 'Mbit/s', 1),
  Kbps: (value) => measured(value, 'kbit/s'),
  Dbm: (value) => measured(value, 'dBm'),
  Db: (value) => measured(value, 'dB'),
  Pct: (value) => measured(value, '%'),
  C: (value) => measured(value, '°C'),
  V: (value) => measured(value, 'V', 1),
  Bytes: dataSize,
}
/** The unit at the end of a name. */
const unitPattern = /(?<=[a-z0-9])[A-Z][a-z]*$/

/** Returns the values of a JSON object in words, such as `{uptimeS: 180}` as "Uptime" and "3 min". Values in values have both names. */
export function namedValues(value: object, prefix = ''): NamedValue[] {
  return Object.entries(value).flatMap(([key, one]: [string, unknown]) => {
    const unit = typeof one === 'number' ? (unitPattern.exec(key)?.[0] ?? '') : ''
    const written = unitWords[unit]
    const words = wordsOf(written ? key.slice(0, -unit.length) : key)
    const name = prefix === '' ? capitalized(words) : `${prefix}, ${words}`
    if (isObject(one)) return namedValues(one, name)
    return [{ name, text: typeof one === 'number' && written ? written(one) : textOf(one) }]
  })
}

const acronyms = new Set([
  'apn',
  'cpu',
  'dns',
  'gps',
  'iccid',
  'id',
  'imei',
  'ip',
  'rsrp',
  'rsrq',
  'sim',
  'sinr',
  'url',
])

/** The words of a name such as `profileVersion`. */
const wordsOf = (key: string): string =>
  key
    .replace(/([a-z])(?=[A-Z\d])/g, '$1 ')
    .split(/[ _-]+/)
    .map((word) =>
      acronyms.has(word.toLowerCase()) ? word.toUpperCase() : /^[A-Z][a-z]/.test(word) ? word.toLowerCase() : word,
    )
    .join(' ')

const capitalized = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1)

function textOf(value: unknown): string {
  if (value === null) return '–'
  if (typeof value === 'boolean') return value ? 'Yes' : 'No'
  if (Array.isArray(value)) return value.map(textOf).join(', ') || 'None'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What a firmware update installs, as "Firmware 4.4.0", and from where; undefined for other parameters. */
export function firmwareWords({ version, url, sizeBytes }: { [key: string]: unknown }): NamedValue | undefined {
  if (typeof version !== 'string') return undefined
  const host = typeof url === 'string' && URL.canParse(url) ? `from ${new URL(url).host}` : ''
  const size = typeof sizeBytes === 'number' ? dataSize(sizeBytes) : ''
  return { name: `Firmware ${version}`, text: [size, host].filter(Boolean).join(' ') }
}

/** The profile of an `apply_config` job; undefined for other parameters. */
export function profileIn({ profile }: { [key: string]: unknown }): { id: string; version: number } | undefined {
  if (!isObject(profile)) return undefined
  const { id, version } = profile
  return typeof id === 'string' && typeof version === 'number' ? { id, version } : undefined
}
