import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { downloadHost, type ExampleImage } from './images.ts'

type ImageServer = {
  /** Downloads images of `downloadHost` from this process, and all others from the Internet. */
  dispatcher: Dispatcher
  close: () => Promise<void>
}

/**
 * Starts the download server of the simulated world. The service accepts only images with a public https address, so the
 * simulated routers find the server by its name, as real routers do, but on this machine.
 */
export async function startImageServer(images: readonly ExampleImage[]): Promise<ImageServer> {
  const bytesOf = new Map(images.map(({ url, bytes }) => [new URL(url).pathname, bytes]))
  const server = createServer((request, response) => {
    const bytes = bytesOf.get(request.url ?? '')
    response.writeHead(bytes ? 200 : 404, { 'content-length': bytes?.byteLength ?? 0 }).end(bytes)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const connectElsewhere = buildConnector({})
  const dispatcher = new Agent({
    connect(options, callback) {
      if (options.hostname !== downloadHost) return connectElsewhere(options, callback)
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => callback(null, socket)).once('error', (error) => callback(error, null))
    },
  })
  return {
    dispatcher,
    async close() {
      await dispatcher.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
