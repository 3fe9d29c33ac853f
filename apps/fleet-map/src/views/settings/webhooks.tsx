import { useState } from 'preact/hooks'
import { patch, post, remove } from '../../api/client.ts'
import type { Webhook } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { linkTo, place } from '../../state/url.ts'
import { RevealedSecret } from './revealed-secret.tsx'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'
import { WebhookState } from './webhook.tsx'
import { WebhookDeliveries } from './webhook-deliveries.tsx'
import { WebhookDialog } from './webhook-dialog.tsx'

type Opened = { what: 'create' } | { what: 'edit' | 'delete'; hook: Webhook } | { what: 'reveal'; secret: string }

/** Lists the organization's webhooks, or shows the deliveries of the selected one. */
export function Webhooks({ org }: { org: string }) {
  const path = `/orgs/${org}/webhooks` as const
  const list = usePages(path, {})
  const [opened, open] = useState<Opened | null>(null)
  const close = () => open(null)
  const done = () => {
    close()
    list.reload()
  }
  const chosen = list.items.find(({ id }) => id === place.value.params.webhook)
  if (chosen) return <WebhookDeliveries org={org} hook={chosen} onChanged={list.reload} />
  return (
    <>
      <SectionHead title="Webhooks" about="The service sends events to your programs as signed HTTPS requests.">
        <button type="button" class="button primary" onClick={() => open({ what: 'create' })}>
          <Icon name="plus" size={16} /> New webhook
        </button>
      </SectionHead>
      <List list={list} caption="Webhooks" columns={columnsOf(open)} keyOf={({ id }) => id} empty="No webhooks yet">
        <p>Create one to be notified when a device goes offline, a job finishes or an alert opens.</p>
      </List>
      {opened?.what === 'create' ? (
        <WebhookDialog
          title="New webhook"
          onClose={close}
          onSave={async (body) => {
            const { secret } = await post(path, { body })
            open({ what: 'reveal', secret })
            list.reload()
          }}
        />
      ) : null}
      {opened?.what === 'edit' ? (
        <WebhookDialog
          title="Edit webhook"
          hook={opened.hook}
          onClose={close}
          onSave={async ({ url: _, ...body }) => {
            await patch(`${path}/${opened.hook.id}`, { body })
            done()
          }}
        />
      ) : null}
      {opened?.what === 'reveal' ? (
        <RevealedSecret
          title="The signing secret"
          label="Signing secret"
          secret={opened.secret}
          about="Your program verifies with it that requests come from this service."
          onClose={close}
        />
      ) : null}
      {opened?.what === 'delete' ? (
        <Dialog
          title="Delete this webhook?"
          submitLabel="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            await remove(`${path}/${opened.hook.id}`)
            done()
          }}
        >
          <p>
            <code class={css.long}>{opened.hook.url}</code>
          </p>
          <p>Pending deliveries are deleted too.</p>
        </Dialog>
      ) : null}
    </>
  )
}

const columnsOf = (open: (opened: Opened) => void): Column<Webhook>[] => [
  {
    title: 'Webhook',
    cell: ({ id, url, description, disabledReason }) => (
      <>
        <a class={css.long} href={linkTo('settings', { section: 'webhooks', webhook: id })}>
          {description ?? url}
        </a>
        {description ? <div class={`hint ${css.long}`}>{url}</div> : null}
        {disabledReason ? <div class="hint">{disabledReason}</div> : null}
      </>
    ),
  },
  { title: 'State', cell: ({ disabledAt }) => <WebhookState disabled={disabledAt !== null} /> },
  {
    title: 'Events',
    cell: ({ events }) => <span title={events.join(', ')}>{events.length}</span>,
    kind: 'number',
    optional: true,
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (hook) => (
      <span class="actions">
        <button type="button" class="button small" onClick={() => open({ what: 'edit', hook })}>
          Edit<span class="visually-hidden"> {hook.description ?? hook.url}</span>
        </button>
        <button type="button" class="button small danger" onClick={() => open({ what: 'delete', hook })}>
          Delete<span class="visually-hidden"> {hook.description ?? hook.url}</span>
        </button>
      </span>
    ),
  },
]
