import { expect, it } from 'vitest'
import { classify, signalQuality } from './quality.ts'

it.each([
  [-115.1, 'none'],
  [-115, 'poor'],
  [-105, 'fair'],
  [-95, 'good'],
  [-85, 'excellent'],
])('gives %d dBm the class %s: a value at a bound belongs to the better one', (rsrpDbm, quality) => {
  expect(classify(rsrpDbm, [-115, -105, -95, -85])).toBe(quality)
  expect(signalQuality({ rat: 'lte', rsrpDbm })).toEqual({ quality, qualityBasis: 'rsrpDbm' })
})

it('uses the worse of RSRP and SINR and returns which it was', () => {
  expect(signalQuality({ rat: 'nr-sa', rsrpDbm: -80, sinrDb: 0 })).toEqual({ quality: 'poor', qualityBasis: 'sinrDb' })
  expect(signalQuality({ rat: 'lte', rsrpDbm: -110, sinrDb: 20 })).toEqual({ quality: 'poor', qualityBasis: 'rsrpDbm' })
  expect(signalQuality({ rat: 'lte', rsrpDbm: null, sinrDb: 13 })).toEqual({
    quality: 'excellent',
    qualityBasis: 'sinrDb',
  })
})

it('rates GSM and UMTS by RSSI, and returns null without the required values', () => {
  expect(signalQuality({ rat: 'umts', rssiDbm: -98, rsrpDbm: -80 })).toEqual({
    quality: 'fair',
    qualityBasis: 'rssiDbm',
  })
  expect(signalQuality({ rat: 'lte', rssiDbm: -60 })).toEqual({ quality: null, qualityBasis: null })
  expect(signalQuality({ rat: 'none', rsrpDbm: -80 })).toEqual({ quality: 'none', qualityBasis: 'rat' })
})

it('accepts other thresholds per RAT', () => {
  const thresholds = { 'nb-iot': { rsrpDbm: [-130, -120, -110, -100] } } as const
  expect(signalQuality({ rat: 'nb-iot', rsrpDbm: -105 }, thresholds).quality).toBe('good')
})
