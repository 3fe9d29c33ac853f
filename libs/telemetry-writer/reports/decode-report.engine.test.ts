import { expect, test } from 'vitest'
import { isDense } from './decode-report.ts'

const reportOf = (sample: object) =>
  Buffer.from(JSON.stringify({ samples: Array.from({ length: 1_000 }, () => sample) }))
const cell = { role: 'scell', rat: 'lte', plmn: '26201', pci: 1, rsrpDbm: -90, rsrqDb: -9, sinrDb: 9 }
const cellular = {
  kind: 'cellular',
  ts: 1_700_000_000_000,
  rat: 'lte',
  rsrpDbm: -90,
  sinrDb: 5,
  cells: Array(8).fill(cell),
}

test.each([
  ['cellular samples with their cells', reportOf(cellular), false],
  ['the smallest samples', reportOf({ kind: 'system', cpuPct: 1 }), false],
  ['nested lists', Buffer.from(`{"samples":[{"kind":"system","junk":[${'[],'.repeat(200_000)}1]}]}`), true],
  ['a list of numbers', Buffer.from(`{"samples":[{"kind":"system","junk":[${'1,'.repeat(200_000)}1]}]}`), true],
  ['a small body', Buffer.from(`[${'[],'.repeat(1_000)}1]`), false],
])('%s', (_name, body, dense) => expect(isDense(body)).toBe(dense))
