import { useRef, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import type { DeviceStatus, Organization } from '../../api/types.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { count } from '../../components/format.ts'
import { deviceStatuses, StatusLabel } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { holds, reloadOrganizations } from '../../state/session.ts'
import { SectionHead } from './section.tsx'
import { subscriptionLabel } from './subscription.ts'

type Usage = {
  devices: { used: number; limit: number; byStatus: Record<DeviceStatus, number> }
  requestsPerMinute: number
  alertMails: { used: number; limit: number }
  historyDays: number
  features: Record<'smartTagGroups' | 'fleetGps' | 'coverage', boolean>
  limits: Record<string, { limit: number; used: number }>
}

const limitLabel: Record<string, string> = {
  apiKeys: 'API keys',
  enrollmentKeys: 'Enrollment keys',
  webhooks: 'Webhooks',
  groups: 'Groups',
  places: 'Places',
  profiles: 'Config profiles',
  firmwareImages: 'Firmware images',
  savedViews: 'Saved views',
  alertRules: 'Alert rules',
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
      call<Organization>(`/orgs/${org}`, { signal }),
      call<Usage>(`/orgs/${org}/usage`, { signal }),
    ])
    return { organization, usage }
  })
  if (read.error) return <Failure error={read.error} retry={read.reload} />
  if (!read.value) return <Loading />
  const { organization, usage } = read.value
  const { used, limit, byStatus } = usage.devices
  return (
    <>
      <SectionHead title={organization.name} about="Plan, limits and usage of this organization.">
        {holds(org, 'org:write') ? (
          <button type="button" class="button" onClick={() => setRenaming(true)}>
            Rename
          </button>
        ) : null}
      </SectionHead>
      <div class="cards">
        <section class="card fact-card">
          <h2>Devices</h2>
          <p class="figure">
            {count(used)} <small>of {count(limit)}</small>
          </p>
          <progress max={Math.max(limit, 1)} value={used} aria-label="Devices in use" />
          <dl class="facts-list">
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
        <section class="card fact-card">
          <h2>Plan</h2>
          <p class="figure capitalized">{organization.plan}</p>
          <dl class="facts-list">
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
        <section class="card fact-card">
          <h2>Limits</h2>
          <dl class="facts-list">
            {Object.entries(usage.limits).map(([name, { used, limit }]) => (
              <div key={name}>
                <dt>{limitLabel[name] ?? name}</dt>
                <dd>
                  {count(used)} of {count(limit)}
                </dd>
              </div>
            ))}
          </dl>
        </section>
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

type RenameProps = { organization: Organization; onClose: () => void; onRenamed: () => void }

/** Renames an organization everywhere on the page. */
export function RenameDialog({ organization, onClose, onRenamed }: RenameProps) {
  const fields = useRef<HTMLDivElement>(null)
  const rename = async () => {
    const { name } = fieldsOf(fields.current)
    await call(`/orgs/${organization.id}`, { method: 'PATCH', body: { name } })
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
