import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Starts a server that answers 200 and does nothing else, as a process of its own. How long it takes to answer is what
 * the machine costs every service at that moment. It ends with its parent.
 */
export async function startReference(): Promise<{ url: string }> {
  const child = fork(fileURLToPath(new URL('./reference-process.ts', import.meta.url)))
  const [message] = await once(child, 'message')
  return { url: `http://127.0.0.1:${(message as { port: number }).port}` }
}
