import { connect, type Socket } from 'node:net'
import { attackerAddress } from './attacker-client.ts'

export type RawSocket = {
  socket: Socket
  /** How the server ended the connection: a status, "connection closed", or "still open". */
  outcome(): string
}

/** A connection that sends arbitrary bytes and records the response. */
export function openRawSocket(url: string): RawSocket {
  const { hostname, port } = new URL(url)
  const socket = connect({
    host: hostname,
    port: Number(port),
    ...(attackerAddress === undefined ? {} : { localAddress: attackerAddress }),
  })
  let received = ''
  let closed = false
  socket.on('data', (chunk: Buffer) => {
    if (received.length < 1_000) received += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    closed = true
  })
  return {
    socket,
    outcome() {
      const status = /^HTTP\/1\.1 (\d{3})/.exec(received)?.[1]
      const code = /"code":"([^"]*)"/.exec(received)?.[1]
      if (status !== undefined) return code === undefined ? status : `${status} ${code}`
      return closed ? 'connection closed' : 'still open'
    },
  }
}
