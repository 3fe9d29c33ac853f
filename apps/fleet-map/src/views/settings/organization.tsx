import { useRef, useState } from 'preact/hooks'
import { get, patch } from '../../api/client.ts'
import type { Organization, Usage } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { count } from '../../components/format.ts'
import { deviceStatuses } from '../../components/label-text.ts'
import { StatusLabel } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { holds, reloadOrganizations } from '../../state/session.ts'
import { SectionHead } from './section.tsx'
import css from './settings.module.css'
import { subscriptionLabel } from './subscription.ts'

const limitLabel: Record<string, string> = {
  apiKeys: 'API keys',
  people: 'People',
  enrollmentKeys: 'Enrollment keys',
  webhooks: 'Webhooks',
  groups: 'Groups',
  places: 'Places',
  profiles: 'Config profiles',
  firmwareImages: 'Firmware images',
  savedViews: 'Saved views',
  alertRules: 'Alert rules',
  chatChannels: 'Chat channels',
  waitingAddresses: 'Addresses that wait for a confirmation',
  openBatches: 'Unfinished job batches',
}

const featureLabel: Record<keyof Usage['features'], string> = {
  smartTagGroups: 'Groups by tag',
  fleetGps: 'Fleet map',
  coverage: 'Coverage and dead zones',
}

/** The organization's name, plan, limits and how much of them it uses. */
export function OrganizationSettings({ org }: { org: string }) {
  const [renaming, setRenaming] = useState(false)
  const read = useResource(`organization ${org}`, async (signal) => {
    const [organization, usage] = await Promise.all([
      get(`/orgs/${org}`, { signal }),
      get(`/orgs/${org}/usage`, { signal }),
    ])
    return { organization, usage }
  })
  if (read.error) return <Failure error={read.error} retry={read.reload} />
  if (!read.value) return <Loading />
  const { organization, usage } = read.value
  return (
    <>
      <SectionHead title={organization.name} about="Plan, limits and usage of this organization.">
        {holds(org, 'org:write') ? (
          <button type="button" class="button" onClick={() => setRenaming(true)}>
            Rename
          </button>
        ) : null}
      </SectionHead>
      <div class={css.cards}>
        <DevicesCard devices={usage.devices} />
        <PlanCard organization={organization} usage={usage} />
        <LimitsCard limits={usage.limits} />
      </div>
      <p class="hint">
        Organization id: <code>{org}</code>
      </p>
      {renaming ? (
        <RenameDialog
          organization={organization}
          onClose={() => setRenaming(false)}
          onRenamed={() => {
            setRenaming(false)
            read.reload()
          }}
        />
      ) : null}
    </>
  )
}

const DevicesCard = ({ devices: { used, limit, byStatus } }: Pick<Usage, 'devices'>) => (
  <section class={`card ${css.factCard}`}>
    <h2>Devices</h2>
    <p class={css.figure}>
      {count(used)} <small>of {count(limit)}</small>
    </p>
    <progress max={Math.max(limit, 1)} value={used} aria-label="Devices in use" />
    <dl class={css.factsList}>
      {deviceStatuses.map((status) => (
        <div key={status}>
          <dt>
            <StatusLabel status={status} />
          </dt>
          <dd>{count(byStatus[status])}</dd>
        </div>
      ))}
    </dl>
  </section>
)

const PlanCard = ({ organization, usage }: { organization: Organization; usage: Usage }) => (
  <section class={`card ${css.factCard}`}>
    <h2>Plan</h2>
    <p class={`${css.figure} capitalized`}>{organization.plan}</p>
    <dl class={css.factsList}>
      <div>
        <dt>Subscription</dt>
        <dd>{subscriptionLabel[organization.subscription.status] ?? organization.subscription.status}</dd>
      </div>
      <div>
        <dt>API requests per minute</dt>
        <dd>{count(usage.requestsPerMinute)}</dd>
      </div>
      <div>
        <dt>Alert e-mail today (UTC)</dt>
        <dd>
          {count(usage.alertMails.used)} of {count(usage.alertMails.limit)}
        </dd>
      </div>
      <div>
        <dt>History</dt>
        <dd>{count(usage.historyDays)} days</dd>
      </div>
      {Object.entries(usage.features).map(([feature, included]) => (
        <div key={feature}>
          <dt>{featureLabel[feature as keyof Usage['features']]}</dt>
          <dd>{included ? 'Included' : 'Not included'}</dd>
        </div>
      ))}
    </dl>
  </section>
)

const LimitsCard = ({ limits }: Pick<Usage, 'limits'>) => (
  <section class={`card ${css.factCard}`}>
    <h2>Limits</h2>
    <dl class={css.factsList}>
      {Object.entries(limits).map(([name, { used, limit }]) => (
        <div key={name}>
          <dt>{limitLabel[name] ?? name}</dt>
          <dd>
            {count(used)} of {count(limit)}
          </dd>
        </div>
      ))}
    </dl>
  </section>
)

type RenameProps = { organization: Organization; onClose: () => void; onRenamed: () => void }

/** Renames an organization everywhere on the page. */
export function RenameDialog({ organization, onClose, onRenamed }: RenameProps) {
  const fields = useRef<HTMLDivElement>(null)
  const rename = async () => {
    const { name = '' } = fieldsOf(fields.current)
    await patch(`/orgs/${organization.id}`, { body: { name } })
    await reloadOrganizations()
    onRenamed()
  }
  return (
    <Dialog title={`Rename ${organization.name}`} submitLabel="Rename" onClose={onClose} onSubmit={rename}>
      <div ref={fields}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} defaultValue={organization.name} />
        </label>
      </div>
    </Dialog>
  )
}
