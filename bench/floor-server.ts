import { createServer } from 'node:http'

// The minimum of a telemetry server: read the body and respond with 202. With PARSE=1, also parse the JSON.
const parse = process.env.PARSE === '1'

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)
    const accepted = parse ? (JSON.parse(body.toString('utf8')) as { samples: unknown[] }).samples.length : 0
    response.writeHead(202, { 'Content-Type': 'application/json' })
    response.end(`{"accepted":${accepted},"rejected":[],"jobsPending":0}`)
  })
})
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address && typeof address === 'object') process.send?.({ port: address.port })
})
process.on('disconnect', () => process.exit(0))
