import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileTopic, filterOf, parseTopicRule, telemetryTopics } from './topic-rules.ts'

const first = (topic: string) =>
  telemetryTopics.flatMap((rule) => {
    const match = compileTopic(rule)(topic)
    return match ? [{ protocol: rule.protocol, ...match }] : []
  })

test('each topic of the table has one protocol and names a device', () => {
  const device = { kind: 'serial', value: 'SN-1' }
  for (const [topic, protocol, parameter] of [
    ['routerfleet/SN-1/telemetry', 'routerfleet'],
    ['teltonika/SN-1/data', 'teltonika'],
    ['router/SN-1/temperature', 'teltonika', 'temperature'],
    ['v1/SN-1/gnss/info', 'inhand'],
    ['modemmanager/SN-1/signal', 'modemmanager'],
    ['gpsd/SN-1/tpv', 'gpsd'],
    ['cradlepoint/SN-1/diagnostics', 'cradlepoint'],
  ] as const) {
    expect(first(topic)).toEqual([{ protocol, device, level: 'SN-1', parameter }])
  }
})

test('topics with other levels do not match', () => {
  for (const topic of ['', 'routerfleet/SN-1', 'routerfleet//telemetry', 'routerfleet/SN-1/telemetry/x', 'x/SN-1/data'])
    expect(first(topic)).toEqual([])
})

const serialOf = (level: string) => first(`teltonika/${level}/data`)[0]?.device.value

test('characters of a serial that a topic cannot hold are percent-encoded', () => {
  const levels = ['A%2FB', '50%25', '1%2B1', '%23', 'A B:C', 'Ä-1', '%250D']
  expect(levels.map(serialOf)).toEqual(['A/B', '50%', '1+1', '#', 'A B:C', 'Ä-1', '%0D'])
})

test('a second spelling of a serial names no device', () => {
  const levels = ['SN%2D1', 'SN%2d1', 'S%4E-1', 'A%2fB', '50%', ' SN-1', 'SN-1%20', '%C3%84-1', '%E0%A4%A', '%252D%2D']
  expect(levels.filter((level) => serialOf(level) !== undefined)).toEqual([])
})

test('each level names another device', () => {
  const part = fc.constantFrom('%', '25', '2D', '2d', '-', '2F', '/', ' ', 'A', '\n', '+')
  const text = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, text, (one, other) => {
      if (one !== other && serialOf(one) !== undefined) expect(serialOf(one)).not.toBe(serialOf(other))
    }),
    { numRuns: 2_000 },
  )
})

describe('configured topics', () => {
  test('find a device by IMEI or MAC address', () => {
    const rule = parseTopicRule('fleet/{mac}/+/data=teltonika')
    expect(rule && filterOf(rule)).toBe('fleet/+/+/data')
    expect(rule && compileTopic(rule)('fleet/00-1E-42-C0-FF-EE/x/data')).toMatchObject({
      device: { kind: 'mac', value: '001e42c0ffee' },
    })
    expect(rule && compileTopic(rule)('fleet/nonsense/x/data')).toBeUndefined()
  })

  test.each([
    '',
    'a/b=teltonika',
    'a/{serial}/b',
    'a/{serial}/#=gpsd',
    'a/{x}=gpsd',
    '{serial}/{imei}=gpsd',
    'a/{mac}=x',
  ])('"%s" is refused', (text) => {
    expect(parseTopicRule(text)).toBeUndefined()
  })
})
