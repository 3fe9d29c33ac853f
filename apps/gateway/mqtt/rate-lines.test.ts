import { expect, test } from 'vitest'
import { createDelivery } from '../delivery.ts'
import type { ServiceAnswer } from '../service-client.ts'
import { createRateLines } from './rate-lines.ts'

const answerOf = (status: number): ServiceAnswer => ({
  status,
  isOverRate: status === 429,
  retryAfterMs: status === 429 ? 5 : undefined,
  body: undefined,
})

/** Lines of devices whose messages the service accepts once `permit` has been called for each. */
function newLines(room = { messages: 4, bytes: 100 }) {
  const permitted = new Map<string, number>()
  const calls: string[] = []
  const accepted: string[] = []
  const connection = new AbortController()
  const lines = createRateLines(createDelivery(), room, Date.now)
  const send = (owner: string, name: string, bytes = 1) =>
    lines
      .deliver({
        owner,
        bytes,
        signal: connection.signal,
        async call() {
          calls.push(name)
          const left = permitted.get(owner) ?? 0
          if (left <= 0) return answerOf(429)
          permitted.set(owner, left - 1)
          accepted.push(name)
          return answerOf(202)
        },
      })
      .then((delivered) => delivered?.answer.status)
  return { lines, send, calls, accepted, connection, permit: (owner: string) => permitted.set(owner, 1_000) }
}

test('messages of a device over its rate wait, keep their order and cause few requests', async () => {
  const { lines, send, calls, accepted, permit } = newLines()
  const first = send('a', '1')
  await expect.poll(lines.waiting).toBe(1)
  const others = ['2', '3', '4'].map((name) => send('a', name))
  await expect.poll(lines.waiting).toBe(4)
  expect(new Set(calls)).toEqual(new Set(['1']))
  permit('a')
  expect(await Promise.all([first, ...others])).toEqual([202, 202, 202, 202])
  expect(accepted).toEqual(['1', '2', '3', '4'])
  expect(lines.waiting()).toBe(0)
})

test('without room, the device that uses most of it loses its newest messages', async () => {
  const { lines, send, permit } = newLines()
  const flood = ['1', '2', '3', '4', '5'].map((name) => send('flood', name))
  expect(await flood[4]).toBe(429)
  const other = send('other', 'a')
  expect(await flood[3]).toBe(429)
  const another = send('other', 'b')
  expect(await flood[2]).toBe(429)
  // Both use half of it.
  expect(await send('other', 'c')).toBe(429)
  permit('flood')
  permit('other')
  expect(await Promise.all([flood[0], flood[1], other, another])).toEqual([202, 202, 202, 202])
  expect(lines.waiting()).toBe(0)
})

test('few large messages use the room as many small ones do', async () => {
  const { send, permit } = newLines()
  const large = [send('large', '1', 60), send('large', '2', 40)]
  const small = send('small', 'a', 10)
  expect(await large[1]).toBe(429)
  permit('large')
  permit('small')
  expect(await Promise.all([large[0], small])).toEqual([202, 202])
})

test('a 429 that does not concern the device refuses nothing', async () => {
  const answers = [{ ...answerOf(429), isOverRate: false }, answerOf(202)]
  const lines = createRateLines(createDelivery(), { messages: 1, bytes: 1 }, Date.now)
  const call = async () => answers.shift() ?? answerOf(500)
  const delivered = await lines.deliver({ owner: 'a', bytes: 9, call, signal: new AbortController().signal })
  expect([delivered?.answer.status, lines.waiting()]).toEqual([202, 0])
})

test('a lost connection ends all that wait', async () => {
  const { lines, send, connection } = newLines()
  const waiting = [send('a', '1'), send('a', '2'), send('b', '3')]
  await expect.poll(lines.waiting).toBe(3)
  connection.abort()
  expect(await Promise.all(waiting)).toEqual([undefined, undefined, undefined])
  expect(lines.waiting()).toBe(0)
})
