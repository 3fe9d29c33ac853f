import { expect, test } from 'vitest'
import { alertsText, bodyFor, testText } from './format.ts'

const alert = (deviceName: string) => ({
  deviceName,
  deviceId: 'd',
  kind: 'offline' as const,
  since: '2026-05-04T12:30:00.000Z',
  measured: {},
  near: null,
  closed: false,
})
const hostile = '<!channel> *Bus* & @all [x](http://evil.example) `4`'
const text = alertsText({
  ruleName: 'Offline',
  severity: 'critical',
  organizationName: 'Harbour ferries',
  count: 3,
  alerts: [alert(hostile), { ...alert('Ferry 2'), closed: true }],
  link: 'https://fleet.example.com/#/alerts?org=o&rule=r',
})

test('the text names rule, devices and how many more there are', () => {
  expect(text.title).toBe('[critical] Offline: 3 devices')
  expect(text.lines).toEqual([
    `${hostile}: no report since 2026-05-04 12:30 UTC`,
    'Ferry 2: no report since 2026-05-04 12:30 UTC (closed since)',
    'and 1 more',
    'Harbour ferries',
  ])
})

test('Slack: text and blocks within its limits; names neither mention anybody nor become links', () => {
  const many = { ...text, title: 'T'.repeat(400), lines: Array.from({ length: 20 }, () => 'L'.repeat(300)) }
  const { blocks } = bodyFor('slack', many) as { blocks: [{ text: { text: string } }, { text: { text: string } }] }
  expect(blocks[0].text.text).toHaveLength(150)
  expect(blocks[1].text.text).toHaveLength(3_000)
  const body = bodyFor('slack', text) as { text: string; blocks: { type: string; text?: { text: string } }[] }
  expect(body.text).toBe('[critical] Offline: 3 devices')
  expect(body.blocks.map(({ type }) => type)).toEqual(['header', 'section', 'context'])
  expect(body.blocks[1]?.text?.text).toContain('&lt;!channel&gt; *Bus* &amp; @all')
  expect(JSON.stringify(body)).not.toContain('<!channel>')
})

test('Teams: the envelope with an adaptive card whose text has no markup', () => {
  const body = bodyFor('teams', text) as { attachments: { content: { body: object[]; actions: object[] } }[] }
  expect(body).toMatchObject({
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          version: '1.4',
          body: [{ type: 'Container', style: 'attention' }, {}, {}, {}, {}],
          actions: [{ type: 'Action.OpenUrl', url: text.link }],
        },
      },
    ],
  })
  expect(JSON.stringify(body)).not.toContain('"TextBlock"')
})

test('Mattermost: an attachment; names neither mention anybody nor become markup', () => {
  const body = bodyFor('mattermost', text) as { attachments: [{ text: string; fallback: string }] }
  expect(body.attachments[0].fallback).toBe('[critical] Offline: 3 devices')
  expect(body.attachments[0].text).not.toContain('@all')
  expect(body.attachments[0].text).toContain('\\*Bus\\*')
  expect(body.attachments[0].text).toContain('\\[x\\]')
})

test('a test message names channel and organization', () => {
  expect(testText('Night', 'Harbour ferries', 'https://x.example')).toMatchObject({
    title: 'Test of the channel Night',
    lines: ['Harbour ferries sends its alerts about routers here.'],
  })
})
