import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseConfig } from '#core/config'
import { clusterAddress, redisVariables } from '#redis/address'

test('the address of a cluster has its nodes and its credentials', () => {
  expect(clusterAddress('redis+cluster://one:7001,two,[::1]:7003')).toEqual({
    nodes: [
      { host: 'one', port: 7001 },
      { host: 'two', port: 6379 },
      { host: '::1', port: 7003 },
    ],
    username: undefined,
    password: undefined,
    tls: false,
  })
  expect(clusterAddress('rediss+cluster://me:p%40ss,word@one:7001/')).toEqual({
    nodes: [{ host: 'one', port: 7001 }],
    username: 'me',
    password: 'p@ss,word',
    tls: true,
  })
  expect(clusterAddress('redis://one:6379/2')).toBeUndefined()
})

test('an address that no client can use is refused with a sentence', () => {
  const read = (url: string) => parseConfig(z.object(redisVariables), { REDIS_URL: url }).REDIS_URL
  expect(() => read('redis://one:6379,two:6379')).toThrow('REDIS_URL: several hosts are a Redis Cluster')
  for (const url of ['redis+cluster://', 'redis+cluster://one:port', 'redis+cluster://one,two/1'])
    expect(() => read(url)).toThrow('REDIS_URL: must be redis+cluster://host:port,host:port')
  expect(read('redis://:secret@one:6379/1')).toBe('redis://:secret@one:6379/1')
})
