import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Starts a separate process with a server that only responds with 200. Its response time shows the delay of the machine. It
 * exits with its parent.
 */
export async function startReference(): Promise<{ url: string }> {
  const child = fork(fileURLToPath(new URL('./reference-process.ts', import.meta.url)))
  const [message] = await once(child, 'message')
  return { url: `http://127.0.0.1:${(message as { port: number }).port}` }
}
