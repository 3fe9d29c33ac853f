import { describe, expect, test } from 'vitest'
import { compareInCell } from './compared-cells.ts'

const level = (deviceId: string, rsrpDbm: number, more: { modem?: string; hour?: number; votes?: number } = {}) => ({
  ...{ deviceId, rsrpDbm, modem: null, hour: 0, votes: 1, ...more },
})

describe('compareInCell', () => {
  test('compares the medians of hours, with one voice for each other device', () => {
    const levels = [
      ...[level('own', -100, { votes: 5 }), level('own', -60), level('own', -90, { hour: 1 })],
      ...[level('b', -80, { votes: 50 }), level('c', -84, { modem: 'one' }), level('c', -88, { modem: 'two' })],
    ]
    expect(compareInCell(levels, 'own')).toEqual([
      { modem: null, rsrpDbm: -95, neighboursDbm: -83, comparedDevices: 2 },
    ])
  })

  test('compares each modem of the device', () => {
    const levels = [
      ...[level('own', -100, { modem: 'one' }), level('own', -80, { modem: 'two' })],
      ...[level('b', -80), level('c', -80)],
    ]
    expect(compareInCell(levels, 'own').map(({ modem, rsrpDbm }) => [modem, rsrpDbm])).toEqual([
      ['one', -100],
      ['two', -80],
    ])
  })

  test('says nothing with one neighbour, or where the device was not', () => {
    expect(compareInCell([level('own', -100), level('b', -80)], 'own')).toEqual([])
    expect(compareInCell([level('a', -100), level('b', -80)], 'own')).toEqual([])
  })
})
