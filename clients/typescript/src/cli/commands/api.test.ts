import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { createProgram } from '../program.ts'

test('a body is sent as it was typed', async () => {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    bodies.push(await text(request))
    response.writeHead(204).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const body = '{"iccid": 89310410106543789301, "version": 1.10}'
  const options = ['--url', url, '--key', 'flk_x', '--data', body]
  await createProgram().parseAsync(['api', 'POST', '/anything', ...options], { from: 'user' })
  expect(bodies).toEqual([body])
  server.close()
  server.closeAllConnections()
})
