import { expect, test } from 'vitest'
import { hostUrls } from '#postgres/hosts'

test('a URL with one host is returned unchanged', () => {
  for (const url of [
    'postgresql://user:pass@db:5432/routerfleet',
    'postgresql://db/routerfleet?options=a,b',
    'postgresql://user:a%2Cb@[::1]:5432/routerfleet',
    'postgresql://user:a,b@db/routerfleet',
    'postgresql:///routerfleet?host=/var/run/postgresql',
    '/var/run/postgresql routerfleet',
    'postgresql://user:a,b@c@db',
  ])
    expect(hostUrls(url)).toEqual([url])
})

test('a URL with several hosts becomes one URL for each host', () => {
  expect(hostUrls('postgresql://user:p,w@a:5432,[::1]:5433,c/routerfleet?sslmode=verify-full')).toEqual([
    'postgresql://user:p,w@a:5432/routerfleet?sslmode=verify-full',
    'postgresql://user:p,w@[::1]:5433/routerfleet?sslmode=verify-full',
    'postgresql://user:p,w@c/routerfleet?sslmode=verify-full',
  ])
})

test('target_session_attrs must ask for the primary', () => {
  expect(hostUrls('postgresql://a,b/db?target_session_attrs=read-write')).toHaveLength(2)
  expect(() => hostUrls('postgresql://a,b/db?target_session_attrs=standby')).toThrow(
    'target_session_attrs in POSTGRES_URL must be read-write or primary, got "standby".',
  )
})

test('an empty host is refused', () => {
  expect(() => hostUrls('postgresql://user@a,,b/db')).toThrow('empty host')
  expect(() => hostUrls('postgresql://user@a,:5432/db')).toThrow('empty host')
})
