import { expect, it } from 'vitest'
import { cleanSample } from '#telemetry/report/clean'
import type { Kind } from '#telemetry/report/fields'
import { rowSource } from '#telemetry/report/sources'
import { createRowEncoder } from '#telemetry/rows/ilp'
import { tables } from '#telemetry/rows/tables'
import { rowKeyOf } from './row-key.ts'

const origin = {
  deviceId: '0190163d-8694-739b-aea5-966c26f8ad90',
  organizationId: '0190163d-8694-739b-aea5-966c26f8ad91',
  receivedAtMs: 1_790_000_000_500,
}
const names = ['wwan0', 'a "quoted" name\\', '"', 'zwei Zeilen\nüñ 📶', ',interface="x"', null]

it('reads the key of every row that the writer encodes, whatever its modem and interface are called', () => {
  const tsMs = 1_790_000_000_000
  for (const kind of ['cellular', 'connection', 'system'] satisfies Kind[]) {
    for (const modem of names) {
      for (const uplink of names) {
        const sample = {
          modem,
          interface: uplink,
          rat: 'lte',
          plmn: '26201',
          rsrpDbm: -90,
          latencyMs: 3,
          firmware: '1',
        }
        const accepted = { index: 0, kind, tsMs, tsCorrected: false, shiftMs: 0, sample }
        const row = cleanSample(accepted, () => {})
        const encoder = createRowEncoder(tables[kind])
        encoder.append(row, origin)
        const letter = { at: '', reason: '', table: kind, key: '', row: encoder.take().bytes.toString('base64') }
        expect(rowKeyOf(letter)).toEqual({
          ...{ table: kind, deviceId: origin.deviceId, tsMs, receivedAtMs: origin.receivedAtMs },
          source: rowSource(row),
        })
      }
    }
  }
})
