import { useRef, useState } from 'preact/hooks'
import { all, post, put } from '../../api/client.ts'
import type { Organization } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { count, moment } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import type { Column } from '../../components/table.tsx'
import { reloadOrganizations } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { RenameDialog } from './organization.tsx'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'
import { type SubscriptionStatus, subscriptionLabel } from './subscription.ts'

type Opened = { what: 'create' } | { what: 'rename' | 'subscription'; organization: Organization }

/** All organizations of the installation, for platform administrators. */
export function Organizations() {
  const list = usePages('/orgs', {})
  const [opened, open] = useState<Opened | null>(null)
  const close = () => open(null)
  const done = () => {
    close()
    list.reload()
  }
  const columns: Column<Organization>[] = [
    {
      title: 'Name',
      cell: ({ id, name }) => (
        <a class={css.long} href={linkTo('settings', { org: id, section: 'organization' })}>
          {name}
        </a>
      ),
    },
    { title: 'Plan', cell: ({ plan }) => <span class="capitalized">{plan}</span>, optional: true },
    { title: 'Subscription', cell: ({ subscription }) => subscriptionLabel[subscription.status] },
    {
      title: 'Device quota',
      cell: ({ subscription }) => count(subscription.deviceQuota),
      kind: 'number',
      optional: true,
    },
    { title: 'Created', cell: ({ createdAt }) => <span class="one-line">{moment(createdAt)}</span>, optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (organization) => (
        <span class="actions">
          <button type="button" class="button small" onClick={() => open({ what: 'rename', organization })}>
            Rename<span class="visually-hidden"> {organization.name}</span>
          </button>
          <button type="button" class="button small" onClick={() => open({ what: 'subscription', organization })}>
            Plan<span class="visually-hidden"> of {organization.name}</span>
          </button>
        </span>
      ),
    },
  ]
  return (
    <>
      <SectionHead
        title="Organizations"
        about="An organization sees only its own devices and people. Suspend one to stop its changes and jobs."
      >
        <button type="button" class="button primary" onClick={() => open({ what: 'create' })}>
          <Icon name="plus" size={16} /> New organization
        </button>
      </SectionHead>
      <List list={list} caption="Organizations" columns={columns} keyOf={({ id }) => id} empty="No organizations yet">
        <p>Create the first one, then connect its routers.</p>
      </List>
      {opened?.what === 'create' ? (
        <CreateDialog onClose={close} onCreated={done} />
      ) : opened?.what === 'rename' ? (
        <RenameDialog organization={opened.organization} onClose={close} onRenamed={done} />
      ) : opened?.what === 'subscription' ? (
        <SubscriptionDialog organization={opened.organization} onClose={close} onChanged={done} />
      ) : null}
    </>
  )
}

function CreateDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }) {
  const fields = useRef<HTMLDivElement>(null)
  const create = async () => {
    const { name = '', plan = '' } = fieldsOf(fields.current)
    await post('/orgs', { body: { name, plan } })
    await reloadOrganizations()
    onCreated()
  }
  return (
    <Dialog title="New organization" submitLabel="Create" onClose={onClose} onSubmit={create}>
      <div ref={fields} class={css.fields}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} placeholder="Harbour ferries" />
        </label>
        <PlanField chosen="pro" />
      </div>
    </Dialog>
  )
}

/** Selects a plan, as the field `plan`. */
function PlanField({ chosen }: { chosen: string }) {
  const plans = useResource('plans', () => all('/plans'))
  const items = plans.value ?? [{ name: chosen, deviceQuota: 0 }]
  return (
    <label class="field">
      <span>Plan</span>
      <select key={items.length} class="input" name="plan">
        {items.map(({ name, deviceQuota }) => (
          <option key={name} value={name} selected={name === chosen}>
            {name}
            {deviceQuota > 0 ? ` (${count(deviceQuota)} devices)` : ''}
          </option>
        ))}
      </select>
    </label>
  )
}

type SubscriptionProps = { organization: Organization; onClose: () => void; onChanged: () => void }

function SubscriptionDialog({ organization, onClose, onChanged }: SubscriptionProps) {
  const fields = useRef<HTMLDivElement>(null)
  const change = async () => {
    const { plan = '', status, deviceQuota } = fieldsOf(fields.current)
    const body = {
      plan,
      status: status as SubscriptionStatus,
      ...(deviceQuota && { deviceQuota: Number(deviceQuota) }),
    }
    await put(`/orgs/${organization.id}/subscription`, { body })
    await reloadOrganizations()
    onChanged()
  }
  return (
    <Dialog title={`Plan of ${organization.name}`} submitLabel="Save" onClose={onClose} onSubmit={change}>
      <div ref={fields} class={css.fields}>
        <PlanField chosen={organization.plan} />
        <label class="field">
          <span>Subscription</span>
          <select class="input" name="status">
            {Object.entries(subscriptionLabel).map(([status, label]) => (
              <option key={status} value={status} selected={status === organization.subscription.status}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Device quota (that of the plan if empty)</span>
          <input class="input" name="deviceQuota" type="number" min={0} />
        </label>
        <p class="hint">
          Suspended and cancelled organizations cannot change devices or run jobs. Their reports are accepted for 30
          more days.
        </p>
      </div>
    </Dialog>
  )
}
