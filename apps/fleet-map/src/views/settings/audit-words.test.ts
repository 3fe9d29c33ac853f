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

test('details are words: no ids, no JSON, statuses as the page names them', () => {
  const record = (action: string, detail: Record<string, unknown>) => ({
    id: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
    at: '2026-05-04T12:30:00.000Z',
    actor: 'system',
    actorName: null,
    action,
    subjectType: 'job_batch',
    subjectId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c50',
    subjectName: null,
    detail,
    requestId: null,
  })
  const id = '01a228dc-2775-7493-8b16-71ad722da4ca'
  const batch = { kind: 'apply_config', total: 6, profile: { id, name: 'Standard router', version: 2 }, groupId: id }
  expect(detailText(record('job_batch.created', batch))).toBe('total: 6, profile: Standard router, version 2')
  const change = { from: 'provisioning', to: 'online', reason: 'telemetry' }
  expect(detailText(record('device.status_changed', change))).toBe('Provisioning → Online')
  expect(detailText(record('map_settings.changed', { lines: [{ width: 2 }, null] }))).toBe('lines: width 2, null')
})
