import { expect, test } from 'vitest'
import { memberText, problemText, sentenceText } from './problem-text.ts'

test.each([
  ['/name', 'Name'],
  ['/rollout/stageWaitMinutes', 'Stage wait minutes'],
  ['/channels/emails/0', 'Emails'],
  ['sinceMinutes', 'Since minutes'],
  ['', 'The request'],
])('names the member at %j in words', (pointer, name) => {
  expect(memberText(pointer)).toBe(name)
})

test.each([
  ['must be an http or https address', 'Must be an http or https address.'],
  ['`from` and `to` must differ.', 'From and to must differ.'],
  ['Is this a name?', 'Is this a name?'],
])('makes a sentence of %j', (detail, sentence) => {
  expect(sentenceText(detail)).toBe(sentence)
})

test('leaves out the pointer with which a problem begins', () => {
  const fields = [{ pointer: '/body/forMinutes', detail: 'Must be at least 5.' }]
  expect(problemText('/body/forMinutes: Must be at least 5.', fields)).toBe('For minutes: Must be at least 5.')
  expect(problemText('The body: Must be an object.', [{ pointer: '', detail: 'Must be an object.' }])).toBe(
    'The request: Must be an object.',
  )
  expect(problemText('The device is disabled.', [])).toBe('The device is disabled.')
})
