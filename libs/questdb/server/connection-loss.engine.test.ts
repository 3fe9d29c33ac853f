import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { questdbConnection } from '#test/questdb'
import { openQuestdbSql } from './sql.ts'

test('a connection that is lost during a statement rejects it and does not end the process', async () => {
  const url = new URL(questdbConnection().pgUrl)
  const target = { host: url.hostname, port: Number(url.port) }
  const proxy = createServer((client) => {
    const upstream = connect(target)
    client.on('data', (chunk) => (chunk.includes('lost') ? client.resetAndDestroy() : upstream.write(chunk)))
    client.on('error', () => {}).on('close', () => upstream.destroy())
    upstream.on('error', () => {}).pipe(client)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  url.hostname = '127.0.0.1'
  url.port = String((proxy.address() as AddressInfo).port)
  const questdb = openQuestdbSql(url.href, { applicationName: 'test' })
  const { signal } = new AbortController()
  await expect(questdb.query('SELECT 1 AS lost', [], signal)).rejects.toThrow()
  expect(await questdb.query('SELECT 1 AS found', [], signal)).toHaveLength(1)
  await questdb.end()
  proxy.close()
})
