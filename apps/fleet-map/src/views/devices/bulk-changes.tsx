import { useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import type { BulkReport } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { plural } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { organizations } from '../../state/session.ts'
import type { BulkSelection } from './bulk.ts'
import { namesText, SelectionNames } from './selection-names.tsx'

const devices = (size: number) => plural(size, 'device')

const changes = {
  disable: {
    verb: 'Disable',
    done: 'disabled',
    text: 'The service refuses their telemetry, and jobs that they have not taken are cancelled. You can enable them again.',
  },
  enable: { verb: 'Enable', done: 'enabled', text: 'The service accepts their telemetry and jobs again.' },
  transfer: {
    verb: 'Transfer',
    done: 'transferred',
    text: 'They lose their groups, profile, tokens and last position, and their open jobs are cancelled. The history until now stays with this organization.',
  },
  delete: {
    verb: 'Delete',
    done: 'deleted',
    text: 'Their tokens and telemetry history are deleted, too, and their open jobs are cancelled. This cannot be undone.',
  },
} as const

export type BulkChangeKind = keyof typeof changes

type BulkChangeProps = {
  kind: BulkChangeKind
  selection: BulkSelection
  organizationId: string
  onClose: () => void
  onChanged: () => void
}

/** Asks before devices are disabled, enabled, transferred or deleted, with what a dry run says. Afterwards shows what changed. */
export function BulkChange({ kind, selection, organizationId, onClose, onChanged }: BulkChangeProps) {
  const { verb, done, text } = changes[kind]
  const [toOrgId, setToOrgId] = useState('')
  const [report, setReport] = useState<BulkReport>()
  const isReady = kind !== 'transfer' || toOrgId !== ''
  const send = (dryRun: boolean, reason = '') => request(kind, selection, organizationId, { toOrgId, reason, dryRun })
  const plan = useResource(`plan ${kind} ${toOrgId} ${JSON.stringify(selection.body)}`, async () =>
    isReady ? send(true) : undefined,
  )
  return (
    <Dialog
      title={report ? `${devices(report.changed)} ${done}` : `${verb} ${devices(selection.size)}?`}
      {...(report ? {} : { submitLabel: plan.value ? `${verb} ${devices(plan.value.changed)}` : verb })}
      closeLabel={report ? 'Done' : 'Cancel'}
      danger={kind !== 'enable'}
      isDone={report !== undefined}
      onClose={onClose}
      onSubmit={async (form) => {
        setReport(await send(false, String(form.get('reason') ?? '').trim()))
        onChanged()
      }}
    >
      {report ? null : <p>{text}</p>}
      {kind === 'transfer' && !report ? (
        <TransferFields organizationId={organizationId} toOrgId={toOrgId} onChoose={setToOrgId} />
      ) : null}
      {report ? (
        <Outcome report={report} done={done} />
      ) : plan.error ? (
        <p class="notice">{plan.error.message}</p>
      ) : plan.value ? (
        <Outcome report={plan.value} will={verb.toLowerCase()} done={done} />
      ) : isReady ? (
        <p class="label">Checking …</p>
      ) : (
        <SelectionNames selection={selection} organizationId={organizationId} />
      )}
    </Dialog>
  )
}

type Options = { toOrgId: string; reason: string; dryRun: boolean }

function request(
  kind: BulkChangeKind,
  { body }: BulkSelection,
  organizationId: string,
  { toOrgId, reason, dryRun }: Options,
): Promise<BulkReport> {
  const query = { dryRun }
  if (kind === 'delete') return post(`/orgs/${organizationId}/device-deletions`, { query, body })
  if (kind === 'transfer')
    return post(`/orgs/${organizationId}/device-transfers`, {
      query,
      body: { ...body, toOrgId, ...(reason ? { reason } : {}) },
    })
  return post(`/orgs/${organizationId}/device-status`, { query, body: { ...body, disabled: kind === 'disable' } })
}

type OutcomeProps = { report: BulkReport; done: string; will?: string }

/** Which devices change, or changed, and which do not, with the reasons. */
function Outcome({ report: { changed, devices: first, skipped }, done, will }: OutcomeProps) {
  const reasons = Map.groupBy(skipped, ({ detail }) => detail)
  const names = first.map(({ name }) => name)
  return (
    <div role="status">
      {changed > 0 ? (
        <p>
          <strong>{namesText(names, changed)}</strong>{' '}
          {will ? `will be ${done}.` : `${changed === 1 ? 'is' : 'are'} ${done}.`}
        </p>
      ) : (
        <p>{will ? `There is no device to ${will}.` : `No device was ${done}.`}</p>
      )}
      {[...reasons].map(([detail, same]) => (
        <p key={detail} class="notice">
          {devices(same.length)} skipped: {detail}{' '}
          <span class="label">
            {namesText(
              same.map(({ name }) => name),
              same.length,
            )}
          </span>
        </p>
      ))}
    </div>
  )
}

type TransferFieldsProps = { organizationId: string; toOrgId: string; onChoose: (id: string) => void }

const TransferFields = ({ organizationId, toOrgId, onChoose }: TransferFieldsProps) => (
  <>
    <label class="field">
      <span>To organization</span>
      <select
        class="input"
        name="toOrgId"
        required
        value={toOrgId}
        onChange={(event) => onChoose(event.currentTarget.value)}
      >
        <option value="">Choose an organization</option>
        {(organizations.value ?? [])
          .filter(({ id }) => id !== organizationId)
          .map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
      </select>
    </label>
    <label class="field">
      <span>Reason (optional)</span>
      <input class="input" name="reason" maxLength={500} />
    </label>
  </>
)
