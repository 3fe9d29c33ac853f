import { expect, test } from 'vitest'
import { mapRequest } from '../../apps/fleet-map/src/map/map-request.ts'

const page = 'https://fleet.example.com/app/'
const key = { Authorization: 'Bearer flk_1' }

test.each([
  'fleet/tiles/3/4/2.mvt',
  '/app/fleet/tiles/3/4/2.mvt?tag=bus',
  'https://fleet.example.com/app/fleet/tiles/3/4/2.mvt',
])('the reader is authenticated at %s', (url) => {
  expect(mapRequest(url, page, key)).toEqual({ url, headers: key, credentials: 'same-origin' })
})

test.each([
  'https://tiles.example.com/3/4/2.png',
  'https://fleet.example.com:8443/3/4/2.png',
  'http://fleet.example.com/3/4/2.png',
  'https://fleet.example.com.tiles.example/3/4/2.png',
  'https://fleet.example.com@tiles.example/3/4/2.png',
  '//tiles.example/3/4/2.png',
  'data:image/png;base64,AAAA',
])('the key of the reader does not leave the page for %s', (url) => {
  expect(mapRequest(url, page, key)).toEqual({ url })
})
