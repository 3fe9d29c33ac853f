import { useEffect } from 'preact/hooks'
import { patch, post } from '../../api/client.ts'
import type { Webhook, WebhookDelivery } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { ago, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { List } from './section.tsx'
import css from './settings.module.css'
import { WebhookState } from './webhook.tsx'
import { WebhookSecret } from './webhook-secret.tsx'

const refreshMs = 2_000

type WebhookDeliveriesProps = { org: string; hook: Webhook; onChanged: () => void }

/** Shows what a webhook was sent, sends test events, and sends deliveries again. */
export function WebhookDeliveries({ org, hook, onChanged }: WebhookDeliveriesProps) {
  const path = `/orgs/${org}/webhooks/${hook.id}` as const
  const list = usePages(`${path}/deliveries`, {})
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
  const ask = (what: 'test' | `deliveries/${string}/redeliver`) =>
    run(async () => {
      await post(`${path}/${what}`)
      list.reload()
    })
  const enable = (enabled: boolean) =>
    run(async () => {
      await patch(path, { body: { enabled } })
      onChanged()
      list.reload()
    })
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('settings', { section: 'webhooks' })}>Webhooks</a> / {hook.description ?? 'Deliveries'}
        </h1>
        <button type="button" class="button" disabled={busy} onClick={() => enable(isDisabled)}>
          {isDisabled ? 'Enable' : 'Disable'}
        </button>
        <button type="button" class="button primary" disabled={busy || isDisabled} onClick={() => ask('test')}>
          Send test event
        </button>
      </div>
      <p class={css.webhookLine}>
        <WebhookState disabled={isDisabled} /> <code class={css.long}>{hook.url}</code>
      </p>
      <WebhookSecret path={path} hook={hook} onChanged={onChanged} />
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
        columns={columnsOf(!busy && !isDisabled, (id) => ask(`deliveries/${id}/redeliver`))}
        keyOf={({ id }) => id}
        empty="No deliveries in the last seven days"
      >
        <p>Send a test event to see whether your program receives it.</p>
      </List>
    </>
  )
}

const columnsOf = (canSend: boolean, onSend: (id: string) => void): Column<WebhookDelivery>[] => [
  {
    title: 'Event',
    cell: ({ type, data }) => (
      <details class={css.event}>
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
      <button type="button" class="button small" disabled={!canSend} onClick={() => onSend(id)}>
        Send again
      </button>
    ),
  },
]

function Result({
  delivery: { status, lastError, attempts, nextAttemptAt, deliveredAt },
}: {
  delivery: WebhookDelivery
}) {
  if (status === 'delivered')
    return (
      <span class="status" title={deliveredAt ? moment(deliveredAt) : ''}>
        <span aria-hidden="true" style={{ color: 'var(--ok)' }}>
          ●
        </span>
        Delivered
      </span>
    )
  if (status === 'pending' && (attempts === 0 || !lastError)) return <span class="status">◌ Sending</span>
  return (
    <>
      <span class="status">
        <span aria-hidden="true" style={{ color: 'var(--bad)' }}>
          ▲
        </span>
        Failed
      </span>
      <div class="hint">
        {lastError}; {nextAttemptAt ? `next attempt ${ago(nextAttemptAt)}` : 'given up'}
      </div>
    </>
  )
}
