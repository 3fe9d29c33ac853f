import { expect, test } from 'vitest'
import { detailText, objectOf, wordsOfAction } from './audit-words.ts'

test('the call of a tool is a sentence with the tool and what it was called for', () => {
  const record = {
    id: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
    at: '2026-05-04T12:30:00.000Z',
    actor: 'key:1',
    actorName: 'Assistant',
    action: 'tool.called',
    subjectType: 'tool',
    subjectId: 'create_jobs',
    subjectName: null,
    detail: { about: 'reboot: SN-1', step: 'plan' },
    requestId: null,
  }
  expect(`${record.actorName} ${wordsOfAction(record.action)} ${objectOf(record)}`).toBe(
    'Assistant called the tool create_jobs',
  )
  expect(detailText(record)).toBe('about: reboot: SN-1, step: plan')
})
