import type { Random } from './random.ts'

const longest = 900_000

const oddNumbers = [
  '0',
  '-0',
  '1e999',
  '-1e999',
  '1e-999',
  '9007199254740993',
  '0.1',
  '-1',
  '2147483648',
  '1e308',
  '1E+2',
] as const
const oddStrings = [
  '',
  ' ',
  '\\u0000',
  '\\ud800',
  '\\u202e',
  '__proto__',
  'constructor',
  '$secret',
  "'; DROP TABLE device; --",
  '%',
  '\\\\',
  '\\n\\r',
  '😀',
  '1970-01-01T00:00:00Z',
  '9999-12-31T23:59:59.999Z',
  '00000000-0000-7000-8000-000000000000',
  'password',
  'null',
] as const
const units = ['9', 'a', '1.', ' ', '.', '-', 'é', '%', '😀', '\\u0000', 'key', '5ghz ', '_'] as const

/** Returns a JSON string of random length, occasionally hundreds of kilobytes. */
export function jsonString(random: Random): string {
  if (random.chance(0.5)) return `"${random.pick(oddStrings)}"`
  const unit = random.pick(units)
  return `"${unit.repeat(Math.max(1, Math.floor(random.size(longest) / unit.length)))}"`
}

/** Returns a JSON number, occasionally with thousands of digits. */
export function jsonNumber(random: Random): string {
  if (random.chance(0.7)) return random.pick(oddNumbers)
  return `${random.chance(0.5) ? '-' : ''}${'9'.repeat(random.size(100_000))}${random.chance(0.3) ? `e${random.size(1e6)}` : ''}`
}

/** Returns mostly valid JSON: deep, wide, or with huge keys and strings. At most about one MiB. */
export function jsonValue(random: Random): string {
  const shape = random.whole(0, 19)
  if (shape === 0) return deep(random)
  if (shape === 1) return wide(random)
  if (shape === 2) return manyKeys(random)
  if (shape === 3) return jsonString(random)
  if (shape === 4) return jsonNumber(random)
  if (shape === 5) return random.pick(['null', 'true', '{}', '[]', '', '{', '{"a":}', '[1,]', 'NaN', '\u0000'])
  return ordinary(random, 4)
}

function deep(random: Random): string {
  const levels = random.size(longest / 8)
  const [open, close] = random.pick([
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"":', '}]'],
  ])
  return `${open.repeat(levels)}1${close.repeat(levels)}`
}

function wide(random: Random): string {
  const item = random.pick(['[]', '{}', '1', '""', '[[]]', '{"a":[]}', 'null', '{"kind":"system"}'])
  const count = random.size(Math.floor(longest / (item.length + 1)))
  return `[${Array.from({ length: count }, () => item).join(',')}]`
}

function manyKeys(random: Random): string {
  const count = random.size(40_000)
  return `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join(',')}}`
}

function ordinary(random: Random, levels: number): string {
  if (levels === 0 || random.chance(0.3)) return random.chance(0.5) ? jsonString(random) : jsonNumber(random)
  const count = random.whole(0, 4)
  const members = Array.from({ length: count }, () => ordinary(random, levels - 1))
  if (random.chance(0.5)) return `[${members.join(',')}]`
  return `{${members.map((member) => `${jsonString(random)}:${member}`).join(',')}}`
}
