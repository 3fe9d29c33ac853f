import { createServer } from 'node:http'

const server = createServer((_, response) => void response.end('{"status":"ok"}'))
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: address !== null && typeof address === 'object' ? address.port : 0 })
})
process.on('disconnect', () => process.exit(0))
