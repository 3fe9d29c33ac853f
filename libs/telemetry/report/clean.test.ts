import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBatch } from './accept.ts'
import { cleanSample, shareSimPlmn } from './clean.ts'
import { fieldsOf, type Kind, kinds } from './fields.ts'
import type { RowOf } from './rows.ts'

const receivedAtMs = Date.UTC(2026, 0, 15, 12)

/** Sends one sample through decoding and cleaning; also what was taken away, as `reason field`. */
function clean<K extends Kind>(kind: K, fields: Record<string, unknown>, sentAt?: number) {
  const body = Buffer.from(JSON.stringify({ sentAt, samples: [{ kind, ts: receivedAtMs, ...fields }] }))
  const batch = decodeBatch(body, 'json', { receivedAtMs, oldestTsMs: 0 })
  const accepted = batch.ok ? batch.samples[0] : undefined
  if (accepted === undefined) throw new Error('not accepted')
  const losses: string[] = []
  const row = cleanSample(accepted, (reason, _kind, field) => losses.push(`${reason} ${field}`)) as RowOf<K>
  return { row, losses }
}

describe('every field of every kind', () => {
  const everyField = kinds.flatMap((kind) => fieldsOf(kind).map(([name, field]) => ({ kind, name, field })))

  it.each(everyField.filter(({ field }) => field.type !== 'time' && field.type !== 'cells'))(
    '$kind.$name has null for the words that mean nothing',
    ({ kind, name }) => {
      for (const word of ['--', '-', 'N/A', 'n/a', 'N/a', '', ' ']) {
        const { row, losses } = clean(kind, { [name]: word })
        expect((row as Record<string, unknown>)[name]).toBeNull()
        expect(losses).toEqual([`null_word ${name}`])
      }
      expect(clean(kind, { [name]: null }).losses).toEqual([])
      expect(clean(kind, { [name]: true }).losses).toEqual([`wrong_type ${name}`])
    },
  )

  it.each(everyField.filter(({ field }) => field.type === 'number'))(
    '$kind.$name keeps its range, also as text, and nothing outside',
    ({ kind, name, field }) => {
      if (field.type !== 'number') return
      const read = (value: unknown) => (clean(kind, { [name]: value }).row as Record<string, unknown>)[name]
      expect([read(field.min), read(field.max)]).toEqual([field.min, field.max])
      expect(read(` ${field.max} `)).toBe(field.max)
      expect([read(field.min - 1), read(String(field.min - 1)), read('1e999')]).toEqual([null, null, null])
      if (field.max < 2 ** 53) expect(read(field.max + 0.5)).toBeNull()
      expect(read('12 dB')).toBeNull()
    },
  )
})

it('sets sentinel values of the modem to null and keeps the sample', () => {
  for (const sentinel of [99, 255, -200, -32768, 2147483647]) {
    const { row } = clean('cellular', {
      rat: 'lte',
      rsrpDbm: sentinel,
      rsrqDb: sentinel,
      sinrDb: sentinel,
      cqi: sentinel,
    })
    expect(row).toMatchObject({ rat: 'lte', rsrpDbm: null, rsrqDb: null, sinrDb: null, cqi: null })
  }
})

it('sets unknown words to null and counts them, and compares words without case', () => {
  const { row, losses } = clean('cellular', { rat: ' 6G', operatorName: ' Net 1 ' })
  expect(row).toMatchObject({ rat: null, operatorName: 'Net 1' })
  expect(losses).toEqual(['unknown_word rat'])
  for (const rat of ['NO SERVICE', 'NOSERVICE', 'no_service', 'No-Service', 'No signal', 'SEARCHING', 'not_registered'])
    expect(clean('cellular', { rat })).toMatchObject({ row: { rat: 'none' } })
  for (const rat of ['LTE', ' Lte ', 'lTE']) expect(clean('cellular', { rat })).toMatchObject({ row: { rat: 'lte' } })
  expect(clean('location', { lat: 1, lon: 2, fix: '3D' }).row).toMatchObject({ fix: '3d', usable: true })
})

describe('an unknown value is never good', () => {
  const position = { lat: 51.9, lon: -8.4 }

  it.each([
    { accuracyM: 150_000 },
    { accuracyM: -1 },
    { accuracyM: 'good', hdop: 1 },
    { accuracyM: 'N/A' },
    { hdop: 655.35 },
    { hdop: 255 },
    { hdop: '1,2' },
    { fix: '4d' },
    { fix: 3 },
    { fix: '--' },
    { ageMs: 90_000_000 },
    { ageMs: -5 },
    { fixTs: '2007-04-10T00:00:00Z' },
    { fixTs: 'yesterday' },
    { fixTs: 0 },
  ])('a location with %j is stored and not usable', (fields) => {
    expect(clean('location', { ...position, ...fields }).row).toMatchObject({ ...position, usable: false })
  })

  it.each([{}, { accuracyM: null }, { hdop: null, fix: null }, { fixTs: null }, { ageMs: null }])(
    'a location with %j has the defaults',
    (fields) => expect(clean('location', { ...position, ...fields }).row.usable).toBe(true),
  )

  it.each([{ fixAgeMs: 90_000_000 }, { fixAgeMs: -1 }, { accuracyM: 200_000 }, { accuracyM: 'fine' }])(
    'a stamped position with %j is not used and counted',
    (fields) => {
      const { row, losses } = clean('cellular', { rsrpDbm: -90, ...position, ...fields })
      expect(row).toMatchObject({ rsrpDbm: -90, lat: null, lon: null })
      expect(losses).toContain('unknown_quality lat')
    },
  )
})

it.each([
  ['lte', 'cellId', 268_435_455, null],
  ['umts', 'cellId', '0xFFFFFFF', null],
  ['nr-sa', 'cellId', 4_294_967_295, null],
  ['nr-sa', 'cellId', '0xFFFFFFFFF', null],
  ['gsm', 'cellId', 65_535, null],
  ['lte', 'cellId', 65_535, '65535'],
  ['lte', 'tac', 65_534, null],
  ['lte', 'tac', '0xffff', null],
  ['nr-nsa', 'tac', 65_535, null],
  ['nr-sa', 'tac', 65_535, '65535'],
  ['nr-sa', 'tac', 16_777_214, null],
  ['nr-sa', 'tac', 16_777_215, null],
  ['lte', 'tac', 65_533, '65533'],
])('with %s, %s %j is %j, also in cells', (rat, name, sent, stored) => {
  const { row, losses } = clean('cellular', { rat, [name]: sent, cells: [{ [name]: sent }, { rat, [name]: sent }] })
  expect(row).toMatchObject({ [name]: stored })
  expect(JSON.parse(row.cells ?? '')).toEqual([
    stored === null ? {} : { [name]: stored },
    stored === null ? { rat } : { rat, [name]: stored },
  ])
  expect(losses).toEqual(
    stored === null ? [`out_of_range ${name}`, ...Array(2).fill(`out_of_range cells.${name}`)] : [],
  )
})

it.each([
  [10805003, '10805003'],
  ['10805003', '10805003'],
  ['0xA4DF0B', '10805003'],
  ['0x0A4df0b', '10805003'],
  ['0010805003', '10805003'],
  [68719476734, '68719476734'],
  [68719476735, null],
  [68719476736, null],
  [2147483647, null],
  [-1, null],
  [1.5, null],
  ['A4DF0B', null],
])('cellId %s is %s', (sent, kept) => expect(clean('cellular', { cellId: sent }).row.cellId).toBe(kept))

it.each([
  ['26203', '26203'],
  ['00101', '00101'],
  [26201, '26201'],
  [310410, '310410'],
  [101, '00101'],
  [1010, '001010'],
  ['0x65', '00101'],
  [262, null],
  ['262', null],
  [9_999, null],
  [-26_201, null],
  // No network has MCC 000.
  ['00000', null],
  ['000000', null],
  ['00026', null],
  ['000101', null],
  ['0', null],
  [0, null],
  [99, null],
  ['0x6659', '26201'],
  ['262-03', null],
  ['1234567', null],
  [2147483647, null],
])('plmn %s is %s', (sent, kept) => expect(clean('cellular', { plmn: sent }).row.plmn).toBe(kept))

describe('usable', () => {
  const at = { lat: 51.9, lon: -8.4 }
  it.each([
    [{ ...at }, true],
    [{ ...at, fix: '3d', accuracyM: 100 }, true],
    [{ ...at, fix: 'none' }, false],
    [{ ...at, accuracyM: 100.5 }, false],
    [{ ...at, hdop: 20 }, true],
    [{ ...at, hdop: 20.1 }, false],
    [{ ...at, accuracyM: 5, hdop: 99 }, true],
    [{ lat: 0, lon: 0 }, false],
    [{ lat: 0, lon: 1 }, true],
    [{ lat: 90.1, lon: 1 }, false],
    [{ lat: 1, lon: -180.5 }, false],
    [{ lat: 1 }, false],
    [{ ...at, lat: '51.9' }, true],
  ])('%j: %s', (fields, usable) => expect(clean('location', fields).row.usable).toBe(usable))
})

describe('fixTs', () => {
  const fixTs = (fields: Record<string, unknown>, sentAt?: number) => {
    const value = clean('location', { lat: 1, lon: 1, ...fields }, sentAt).row.fixTs
    return value === null ? null : value - receivedAtMs
  }

  it('is the value sent, or derived from ageMs', () => {
    expect(fixTs({ fixTs: receivedAtMs - 5000 })).toBe(-5000)
    expect(fixTs({ fixTs: '2026-01-15T11:59:55Z' })).toBe(-5000)
    expect(fixTs({ ageMs: 5000 })).toBe(-5000)
    expect(fixTs({ ageMs: '5000', ts: undefined })).toBe(-5000)
    expect(fixTs({})).toBeNull()
  })

  it('is null if it differs from the sample by a day or more', () => {
    expect(fixTs({ fixTs: receivedAtMs - 86_400_001 })).toBeNull()
    expect(fixTs({ fixTs: receivedAtMs + 300_001 })).toBeNull()
    expect(fixTs({ fixTs: 'never' })).toBeNull()
    expect(fixTs({ ageMs: -1 })).toBeNull()
  })

  it('is shifted with a corrected clock, unless it is the time of the satellites', () => {
    const sentAt = receivedAtMs - 3_600_000
    expect(fixTs({ ts: sentAt, fixTs: sentAt - 5000 }, sentAt)).toBe(-5000)
    expect(fixTs({ ts: sentAt, fixTs: receivedAtMs - 5000 }, sentAt)).toBe(-5000)
  })
})

describe('cells', () => {
  it('are cleaned like the serving cell', () => {
    const cells = [{ role: 'neighbor', pci: '12', rsrpDbm: -200, cellId: '0x10', colour: 'red' }, 7, { role: 'friend' }]
    const { row, losses } = clean('cellular', { cells })
    expect(row.cells).toBe('[{"role":"neighbor","pci":12,"cellId":"16"},{}]')
    expect(losses.sort()).toEqual([
      'out_of_range cells.rsrpDbm',
      'unknown_field cells',
      'unknown_word cells.role',
      'wrong_type cells',
    ])
  })

  it('have marks of unknown cells by their own technology, else by that of the serving cell', () => {
    const cells = [
      { rat: 'nr-sa', tac: 65_535 },
      { rat: 'gsm', cellId: 65_535 },
      { tac: 65_535, cellId: 65_535 },
    ]
    expect(clean('cellular', { rat: 'lte', cells }).row.cells).toBe(
      '[{"rat":"nr-sa","tac":"65535"},{"rat":"gsm"},{"cellId":"65535"}]',
    )
    expect(clean('cellular', { rat: 'nr-sa', cells }).row.cells).toBe(
      '[{"rat":"nr-sa","tac":"65535"},{"rat":"gsm"},{"cellId":"65535","tac":"65535"}]',
    )
  })

  it('are at most 32', () => {
    const { row, losses } = clean('cellular', { cells: Array(33).fill({ pci: 1 }) })
    expect(JSON.parse(row.cells ?? '')).toHaveLength(32)
    expect(losses).toEqual(['too_many cells'])
    expect(clean('cellular', { cells: 'none' }).losses).toEqual(['wrong_type cells'])
  })

  it('can hold 32 cells with all fields, and not more characters', () => {
    const numbers = { arfcn: 3279165, bandwidthMhz: 100, pci: 1007, rssiDbm: -113, rsrpDbm: -140.5, rsrqDb: -19.5 }
    const texts = { operatorName: 'Telekom Deutschland GmbH', band: 'n78', cellId: '68719476734', tac: '16777213' }
    const more = { role: 'neighbor', rat: 'nr-nsa', plmn: '310410', sinrDb: -20.5, cqi: 15, signalPercent: 100 }
    const full = clean('cellular', { cells: Array(32).fill({ ...numbers, ...texts, ...more }) })
    expect(JSON.parse(full.row.cells ?? '')).toHaveLength(32)
    expect(full.losses).toEqual([])
    const wordy = { operatorName: 'x'.repeat(256), band: 'y'.repeat(256) }
    const { row, losses } = clean('cellular', { cells: Array(32).fill(wordy) })
    expect(row.cells?.length).toBeLessThan(10_300)
    expect(JSON.parse(row.cells ?? '')[0]).toEqual(wordy)
    expect(losses).toEqual(['too_many cells'])
  })
})

it('creates rows of a kind with the same members in the same order, for any input', () => {
  const names = kinds.flatMap((kind) => fieldsOf(kind).map(([name]) => name))
  const value = fc.oneof(
    fc.string(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.dictionary(fc.constantFrom(...names), fc.string())),
  )
  fc.assert(
    fc.property(fc.constantFrom(...kinds), fc.dictionary(fc.constantFrom(...names), value), (kind, fields) => {
      expect(Object.keys(clean(kind, fields).row)).toEqual(Object.keys(clean(kind, {}).row))
    }),
  )
})

it('knows the operator of the SIM of RF rows from the connections of the same modem and report', () => {
  const shared = (modem: string | null, fields: object, ...connections: object[]) => {
    const { row } = clean('cellular', { ...(modem === null ? {} : { modem }), rat: 'none', ...fields })
    shareSimPlmn(
      connections.map((one) => clean('connection', { ...one }).row),
      [row],
    )
    return row.simPlmn
  }
  const german = { modem: 1, imsi: 262011234567890 }
  const other = { modem: '1', simPlmn: '26203' }
  expect(shared('1', {}, german)).toBe('26201')
  expect(shared('1', {}, { modem: 1 }, german, { ...other, modem: 2 })).toBe('26201')
  expect(shared('1', { simPlmn: '26202' }, german)).toBe('26202')
  expect(shared(null, {}, { imsi: '262011234567890' })).toBe('26201')
  for (const modem of ['2', null]) expect(shared(modem, {}, german)).toBeNull()
  // The SIM was changed.
  expect(shared('1', {}, german, other, german)).toBeNull()
})

it('knows the operator of the SIM from the IMSI, unless it was sent', () => {
  expect(clean('connection', { imsi: '262019876543210' }).row.simPlmn).toBe('26201')
  expect(clean('connection', { imsi: '310410123456789' }).row.simPlmn).toBe('310410')
  expect(clean('connection', { imsi: '310410123456789', simPlmn: '26203' }).row.simPlmn).toBe('26203')
  for (const imsi of ['unknown', '000000000000000', '00000000000000', 0])
    expect(clean('connection', { imsi }).row.simPlmn).toBeNull()
  // India has networks of two and of three digits under one country code; Mexico's have three.
  for (const [imsi, plmn] of [
    ['405011234567890', '40501'],
    ['405025123456789', '405025'],
    ['405799123456789', '405799'],
    ['334020123456789', '334020'],
    ['250051234567890', '25005'],
  ])
    expect(clean('connection', { imsi }).row.simPlmn).toBe(plmn)
})
