import { expect, it } from 'vitest'
import { decodeBatch } from './accept.ts'
import { cellListFields, fieldsOf } from './fields.ts'
import { maxReportValues, maxSampleValues } from './inspect.ts'

const receivedAtMs = Date.UTC(2026, 0, 15, 12)
const context = { receivedAtMs, oldestTsMs: receivedAtMs - 90 * 86_400_000 }
const maxBodyBytes = 1024 * 1024

function decoded(body: string, sampleCount?: number) {
  const batch = decodeBatch(Buffer.from(body), 'json', {
    ...context,
    ...(sampleCount === undefined ? {} : { sampleCount }),
  })
  if (!batch.ok) throw new Error(batch.detail)
  return batch
}

const sampleOfValues = (count: number) =>
  `{"kind":"system","x":[${Array(count - 2)
    .fill(0)
    .join(',')}]}`
const reportOf = (samples: readonly string[]) => `{"samples":[${samples.join(',')}]}`

it('rejects a sample with more than 2048 values at any depth', () => {
  expect(decoded(reportOf([sampleOfValues(maxSampleValues)])).rejected).toEqual([])
  const detail = 'The sample holds more than 2048 values.'
  const refused = [{ index: 0, code: 'invalid_sample', detail }]
  expect(decoded(reportOf([sampleOfValues(maxSampleValues + 1)])).rejected).toEqual(refused)
  const members = Array.from({ length: maxSampleValues }, (_, index) => `"x${index}":{}`).join(',')
  expect(decoded(reportOf([`{"kind":"system",${members}}`])).rejected).toEqual(refused)
  expect(decoded(reportOf([`{"kind":"system","x":[${'[[[[[]]]]],'.repeat(1_000)}0]}`])).rejected).toEqual(refused)
})

it('rejects the samples of a report beyond 262144 values and accepts the samples before them', () => {
  const full = maxReportValues / maxSampleValues
  const { samples, rejected } = decoded(reportOf(Array(full + 2).fill(sampleOfValues(maxSampleValues))))
  expect(samples).toHaveLength(full)
  expect(rejected.map(({ index, code }) => [index, code])).toEqual([
    [full, 'invalid_sample'],
    [full + 1, 'invalid_sample'],
  ])
})

it('accepts the largest reports of known fields that fit into a body', () => {
  const cell = Object.fromEntries(Object.keys(cellListFields).map((name) => [name, 1]))
  const everything = Object.fromEntries(fieldsOf('cellular').map(([name]) => [name, 1]))
  const largest = { ...everything, kind: 'cellular', ts: receivedAtMs, cells: Array(32).fill(cell) }
  // As many values as fit into a body: every cell has one short member.
  const densest = { kind: 'cellular', cells: Array(32).fill({ pci: 1 }) }
  for (const sample of [largest, densest]) {
    const text = JSON.stringify(sample)
    const count = Math.min(1_000, Math.floor((maxBodyBytes - 20) / (text.length + 1)))
    const body = reportOf(Array(count).fill(text))
    expect(body.length).toBeLessThanOrEqual(maxBodyBytes)
    expect(decoded(body)).toMatchObject({ rejected: [], samples: { length: count } })
  }
})

it('does not inspect samples again that an earlier decoding accepted', () => {
  const body = reportOf([sampleOfValues(10), sampleOfValues(maxSampleValues + 1)])
  expect(decoded(body, 1).samples).toHaveLength(1)
  expect(decoded(body, 2).samples).toHaveLength(2)
})

const cpuMs = (work: () => void): number => {
  const costs = Array.from({ length: 7 }, () => {
    const start = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / 1_000
  })
  return costs.sort((a, b) => a - b)[3] ?? 0
}

it('takes at most a few times as long as JSON.parse for a body full of values', () => {
  const head = '{"samples":[{"kind":"system","x":['
  const body = `${head}${'0,'.repeat((maxBodyBytes - head.length - 8) >> 1)}0]}]}`
  const parseMs = cpuMs(() => JSON.parse(body))
  const bytes = Buffer.from(body)
  const decodeMs = cpuMs(() => decodeBatch(bytes, 'json', context))
  expect(decodeMs).toBeLessThan(4 * parseMs + 2)
})
