import { createServer } from 'node:net'
import { freePort, keepForItself } from './engines/process.ts'

/** Returns the port for the control plane. Throws an error with one sentence if another program uses it. */
export async function claimPort(port: number, host: string): Promise<number> {
  if (port === 0) return freePort()
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(new Error(sentenceOf(error, port, host))))
    server.listen({ port, host, exclusive: true }, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
  keepForItself(port)
  return port
}

function sentenceOf(error: NodeJS.ErrnoException, port: number, host: string): string {
  if (error.code === 'EADDRINUSE') {
    return `Port ${port} is in use by another program. Stop that program, or choose another port with npm start -- --port N.`
  }
  if (error.code === 'EACCES')
    return `Permission denied for port ${port}. Choose a port above 1023 with npm start -- --port N.`
  return `Cannot listen on ${host}:${port}: ${error.message}.`
}

/** Returns the address that works in a browser on this machine. */
export const localBaseUrl = (port: number, host: string): string => {
  const everywhere = host === '0.0.0.0' || host === '::'
  const name = everywhere ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

/** Throws an error with one sentence if several processes cannot listen on one port of this system. */
export async function requireSharedPorts(port: number, host: string): Promise<void> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(new Error(noSharedPorts)))
    server.listen({ port, host, reusePort: true }, resolve)
  })
  await new Promise((resolve) => server.close(resolve))
}

const noSharedPorts =
  '--cluster needs a system on which several processes can share one port, such as Linux: start without --cluster here, or run it in a Linux container.'
