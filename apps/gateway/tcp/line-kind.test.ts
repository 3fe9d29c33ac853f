import { expect, test } from 'vitest'
import { kindOf } from './line-kind.ts'
import { createLineReader, maxLineBytes } from './lines.ts'

const imei = { kind: 'imei', value: '352099001761481' }

const cradlepointLine = {
  is: 'position',
  protocol: 'cradlepoint',
  device: { kind: 'serial', value: '1126000001' },
}

test.each([
  ['352099001761481', { is: 'identity', device: imei }],
  ['IMEI:352099001761481', { is: 'identity', device: imei }],
  ['imei=352099001761481', { is: 'identity', device: imei }],
  ['SERIAL: SN-1', { is: 'identity', device: { kind: 'serial', value: 'SN-1' } }],
  ['$PCPTI,IBR900-1d3,152933,152933*3B', { is: 'identity', device: { kind: 'serial', value: 'IBR900-1d3' } }],
  ['$FRLIN,,352099001761481,*5C', { is: 'identity', device: imei }],
  ['$GPRMC,123519.00,A,4807.038,N,01131.000,E,022.4,084.4,040526,,,A*58', { is: 'position', protocol: 'nmea' }],
  ['\\s:AIS,c:1762400000*2A\\$GPGLL,,,,,123519.00,V*0E', { is: 'position', protocol: 'nmea' }],
  ['\u00b5b\u0001\u0007$GPGLL,,,,,123519.00,V*25', { is: 'position', protocol: 'nmea' }],
  ['\u00b5b$GPGLL,,,,,123519.00,V*24', { is: 'unknown' }],
  ['{"class":"TPV","mode":1}', { is: 'position', protocol: 'gpsd' }],
  ['000000000000000,170515,3613.25,N,11559.14,W,0.0,,,,,,,,', { is: 'position', protocol: 'cradlepoint' }],
  [
    '+10000000000,162658,4333.62404,N,11636.23469,W,0.0,,Verizon,LTE,-107,-74,-16,,100.68.169.178',
    { is: 'position', protocol: 'cradlepoint', device: { kind: 'serial', value: '+10000000000' } },
  ],
  ['1126000001,162658,4333.62404,n,11636.23469,w,0.0,,Verizon,LTE,-107,-74,-16,,10.0.0.1', cradlepointLine],
  ['1126000001,162658.0,4333.,N,11636,W,0.0,,Verizon,LTE,-107,-74,-16,,10.0.0.1', cradlepointLine],
  // Without a position.
  ['1126000001,162658,,N,,E,0.0,,Verizon,LTE,-107,-74,-16,,10.0.0.1', cradlepointLine],
  ['1126000001,162658,,,,,,,Verizon,LTE,-107,-74,-16,,10.0.0.1', cradlepointLine],
  ['{"class":"VERSION","release":"3.25"}', { is: 'other' }],
  ['{"lat":1,"lon":2}', { is: 'unknown' }],
  ['GET / HTTP/1.1', { is: 'unknown' }],
  ['000000000000000', { is: 'unknown' }],
])('%s', (line, kind) => {
  expect(kindOf(line)).toEqual(kind)
})

test('lines are joined over chunks, and a line without an end is bounded', () => {
  const reader = createLineReader()
  expect(reader.read(Buffer.from('$GP'))).toEqual([])
  expect(reader.read(Buffer.from('RMC\r\n\r\n{"a"'))).toEqual(['$GPRMC'])
  expect(reader.read(Buffer.from(': 1}\r'))).toEqual(['{"a": 1}'])
  expect(reader.read(Buffer.from('\n$GPGGA\r$GPRMC\r$GP'))).toEqual(['$GPGGA', '$GPRMC'])
  expect(reader.read(Buffer.from('VTG\r\n'))).toEqual(['$GPVTG'])
  expect(() => reader.read(Buffer.alloc(maxLineBytes + 1, 'x'))).toThrow(RangeError)
})
