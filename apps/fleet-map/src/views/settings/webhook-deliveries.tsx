import { useEffect } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { useAction } from '../../components/action.ts'
import { ago, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { List } from './section.tsx'
import { type Webhook, WebhookState } from './webhook.tsx'

type Delivery = {
  id: string
  type: string
  data: Record<string, unknown>
  status: 'delivered' | 'pending'
  attempts: number
  lastError: string | null
  createdAt: string
  deliveredAt: string | null
  nextAttemptAt: string | null
}

const refreshMs = 2_000

/** Shows what a webhook was sent, sends test events, and sends deliveries again. */
export function WebhookDeliveries({ path, hook, onChanged }: { path: string; hook: Webhook; onChanged: () => void }) {
  const list = usePages<Delivery>(`${path}/deliveries`, {})
  const { busy, failure, run } = useAction()
  const isDisabled = hook.disabledAt !== null
  // The list is newer than the webhook while deliveries wait.
  const isUnconfirmed = hook.confirmedAt === null && !list.items.some(({ status }) => status === 'delivered')
  const isWaiting = list.items.some(({ status }) => status === 'pending')
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(list.reload, refreshMs)
    return () => clearInterval(timer)
  }, [isWaiting])
  const post = (what: string) =>
    run(async () => {
      await call(`${path}/${what}`, { method: 'POST' })
      list.reload()
    })
  const enable = (enabled: boolean) =>
    run(async () => {
      await call(path, { method: 'PATCH', body: { enabled } })
      onChanged()
      list.reload()
    })
  const columns: Column<Delivery>[] = [
    {
      title: 'Event',
      cell: ({ type, data }) => (
        <details class="event">
          <summary>
            <code>{type}</code>
          </summary>
          <pre>{JSON.stringify(data, null, 2)}</pre>
        </details>
      ),
    },
    { title: 'Result', cell: (delivery) => <Result delivery={delivery} /> },
    { title: 'Attempts', cell: ({ attempts }) => attempts, kind: 'number', optional: true },
    {
      title: 'Created',
      cell: ({ createdAt }) => <span title={moment(createdAt)}>{ago(createdAt)}</span>,
      optional: true,
    },
    {
      title: 'Actions',
      kind: 'actions',
      cell: ({ id }) => (
        <button
          type="button"
          class="button small"
          disabled={busy || isDisabled}
          onClick={() => post(`deliveries/${id}/redeliver`)}
        >
          Send again
        </button>
      ),
    },
  ]
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('settings', { section: 'webhooks' })}>Webhooks</a> / {hook.description ?? 'Deliveries'}
        </h1>
        <button type="button" class="button" disabled={busy} onClick={() => enable(isDisabled)}>
          {isDisabled ? 'Enable' : 'Disable'}
        </button>
        <button type="button" class="button primary" disabled={busy || isDisabled} onClick={() => post('test')}>
          Send test event
        </button>
      </div>
      <p class="webhook-line">
        <WebhookState disabled={isDisabled} /> <code class="long">{hook.url}</code>
      </p>
      {hook.disabledReason ? <div class="notice">{hook.disabledReason}</div> : null}
      {isUnconfirmed && isWaiting && !isDisabled ? (
        <div class="notice">
          The receiver has not accepted a delivery yet. Until it does, a failed attempt delays all deliveries.
        </div>
      ) : null}
      <FailureNotice reason={failure} />
      <List
        list={list}
        caption="Deliveries"
        columns={columns}
        keyOf={({ id }) => id}
        empty="No deliveries in the last three days"
      >
        <p>Send a test event to see whether your program receives it.</p>
      </List>
    </>
  )
}

function Result({ delivery: { status, lastError, attempts, nextAttemptAt, deliveredAt } }: { delivery: Delivery }) {
  if (status === 'delivered')
    return (
      <span class="status" title={deliveredAt ? moment(deliveredAt) : ''}>
        <span aria-hidden="true" style={{ color: 'var(--ok)' }}>
          ●
        </span>
        Delivered
      </span>
    )
  if (attempts === 0 || !lastError) return <span class="status">◌ Sending</span>
  return (
    <>
      <span class="status">
        <span aria-hidden="true" style={{ color: 'var(--bad)' }}>
          ▲
        </span>
        Failed
      </span>
      <div class="hint">
        {lastError}; next attempt {ago(nextAttemptAt)}
      </div>
    </>
  )
}
