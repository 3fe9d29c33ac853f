import { expect, test } from 'vitest'
import { createMessageWindow } from './message-window.ts'

test('is closed at either limit and opens when messages leave', () => {
  const window = createMessageWindow({ messages: 2, bytes: 100 })
  const opened: string[] = []
  window.enter(10)
  window.whenOpen(() => opened.push('first'))
  window.enter(95)
  window.whenOpen(() => opened.push('second'))
  expect([opened, window.messages(), window.bytes()]).toEqual([['first'], 2, 105])
  window.leave(95)
  expect([opened, window.messages(), window.bytes()]).toEqual([['first', 'second'], 1, 10])
  window.leave(10)
  expect(opened).toHaveLength(2)
})

test('says when the last message has left', async () => {
  const window = createMessageWindow({ messages: 2, bytes: 100 })
  await window.whenEmpty()
  window.enter(5)
  const events: string[] = []
  const emptied = window.whenEmpty().then(() => events.push('empty'))
  await Promise.resolve()
  events.push('left')
  window.leave(5)
  await emptied
  expect(events).toEqual(['left', 'empty'])
})
