import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { BystanderPlace, Figures, Order, OrderMessage, ReplyMessage } from './bystander-messages.ts'

export type Bystander = {
  /** Starts a new measurement. */
  begin(): Promise<void>
  /** Returns the measurements since `begin`. */
  figures(): Promise<Figures>
  /** Waits until all requests so far are finished, at most for this time. */
  drain(withinMs: number): Promise<void>
  /** Sets the processes to measure after one was replaced. */
  follow(pids: Record<string, number>): Promise<void>
  /** Sends no new reports and waits until the sent reports are acknowledged. */
  finish(): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a process that uses the service like an ordinary client and measures each request. It is a separate process, so that
 * the work of an attack does not delay its timers.
 */
export async function startBystander(place: BystanderPlace): Promise<Bystander> {
  const child = fork(fileURLToPath(new URL('./bystander-process.ts', import.meta.url)), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // On Ctrl-C, this process stops the bystander at the end of the run.
    detached: true,
  })
  const waiting = new Map<number, { resolve(reply: ReplyMessage): void; reject(error: Error): void }>()
  let orders = 0
  const ended = once(child, 'exit')
  ended.then(([code]) => {
    for (const { reject } of waiting.values()) reject(new Error(`The bystander ended with code ${code}.`))
  })
  child.on('message', (reply: ReplyMessage) => {
    waiting.get(reply.number)?.resolve(reply)
    waiting.delete(reply.number)
  })
  const send = (order: Order) =>
    new Promise<ReplyMessage>((resolve, reject) => {
      const message: OrderMessage = { number: orders++, order }
      waiting.set(message.number, { resolve, reject })
      child.send(message, (error) => error && reject(error))
    })
  await send({ kind: 'place', place })
  return {
    begin: async () => void (await send({ kind: 'begin' })),
    async figures() {
      const { figures } = await send({ kind: 'figures' })
      if (!figures) throw new Error('The bystander measured nothing.')
      return figures
    },
    drain: async (withinMs) => void (await send({ kind: 'drain', withinMs })),
    follow: async (pids) => void (await send({ kind: 'pids', pids })),
    finish: async () => void (await send({ kind: 'finish' })),
    async close() {
      child.disconnect()
      await ended
    },
  }
}
