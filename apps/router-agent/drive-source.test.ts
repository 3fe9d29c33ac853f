import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readDrive } from './drive-file.ts'
import { createDriveSource } from './drive-source.ts'
import type { Sample } from './sample.ts'

const header =
  'Timestamp,Longitude,Latitude,Speed,Operatorname,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ'

test('a recorded row becomes a location and a cellular sample with unchanged sentinels', () => {
  const rows = [
    '2020.02.13_15.02.01,-8.396102,51.887069,36,B,5G,-93,-15,-3.0,10,-107,9CBA,10805003,-93.0,-13.0',
    '2020.02.13_15.02.02,-8.396102,51.887069,36,B,HSPA+,-200,-,-,-,2147483647,-,-,-,-',
  ]
  expect(readDrive([header, ...rows].join('\n'))).toEqual([
    { ts: 1_581_606_121_000, kind: 'location', lat: 51.887069, lon: -8.396102, speedMps: 10, source: 'gnss' },
    {
      ...{
        ts: 1_581_606_121_000,
        kind: 'cellular',
        rat: 'nr-nsa',
        operatorName: 'B',
        cellId: '10805003',
        tac: '0x9CBA',
      },
      ...{ rsrpDbm: -93, rsrqDb: -15, sinrDb: -3, cqi: 10, rssiDbm: -107, nrRsrpDbm: -93, nrRsrqDb: -13 },
    },
    { ts: 1_581_606_122_000, kind: 'location', lat: 51.887069, lon: -8.396102, speedMps: 10, source: 'gnss' },
    {
      ...{ ts: 1_581_606_122_000, kind: 'cellular', rat: 'hspa', operatorName: 'B', cellId: '-', tac: '-' },
      ...{ rsrpDbm: -200, rsrqDb: '-', sinrDb: '-', cqi: '-', rssiDbm: 2_147_483_647 },
    },
  ])
})

test('a replay returns every sample once, never in the future, with the intervals of the recording', () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 60 })
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 600 }), (gapsMs, speed) => {
      const firstMs = 1_500_000_000_000
      const drive = gapsMs.map((_, index): Sample => {
        const sinceFirstMs = gapsMs.slice(0, index).reduce((sum, gapMs) => sum + gapMs, 0)
        return { ts: firstMs + sinceFirstMs, kind: 'location' }
      })
      const startedAtMs = 1_700_000_000_000
      const source = createDriveSource(drive, speed, startedAtMs, startedAtMs)
      const replayed: Sample[] = []
      let nowMs = startedAtMs
      for (; !source.isExhausted(nowMs); nowMs += 1_000) {
        const taken = source.collect(nowMs)
        expect(Math.max(0, ...taken.map((sample) => sample.ts))).toBeLessThanOrEqual(nowMs + 1)
        replayed.push(...taken)
      }
      const offset = (list: Sample[]) => list.map((sample) => sample.ts - (list[0]?.ts ?? 0))
      expect(replayed).toHaveLength(drive.length)
      expect(offset(replayed)).toEqual(offset(drive))
      const endsAtMs = startedAtMs + (offset(drive).at(-1) ?? 0) / speed
      expect(Math.abs((replayed.at(-1)?.ts ?? 0) - endsAtMs)).toBeLessThanOrEqual(1)
    }),
  )
})
