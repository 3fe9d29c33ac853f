import { useRef, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf, tickedOf } from '../../components/form.ts'
import { count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import { Chips, type Column } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { ExpiryField, expiresAtOf, expiryText } from './expiry.tsx'
import { RevealedSecret } from './revealed-secret.tsx'
import { List, SectionHead } from './section.tsx'

type EnrollmentKey = {
  id: string
  name: string
  autoCreate: boolean
  models: string[] | null
  maxDevices: number | null
  enrolledCount: number
  expiresAt: string | null
}
type NewEnrollmentKey = EnrollmentKey & { key: string }

/** Creates and revokes the keys with which routers enroll. */
export function EnrollmentKeys({ org }: { org: string }) {
  const path = `/orgs/${org}/enrollment-keys`
  const list = usePages<EnrollmentKey>(path, {})
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<NewEnrollmentKey>()
  const [revoking, setRevoking] = useState<EnrollmentKey>()
  const columns: Column<EnrollmentKey>[] = [
    {
      title: 'Name',
      cell: ({ name, autoCreate }) => (
        <>
          <strong>{name}</strong>
          <div class="hint">{autoCreate ? 'Registers unknown routers' : 'Only registered routers'}</div>
        </>
      ),
    },
    {
      title: 'Enrolled',
      kind: 'number',
      cell: ({ enrolledCount, maxDevices }) =>
        maxDevices === null ? count(enrolledCount) : `${count(enrolledCount)} of ${count(maxDevices)}`,
    },
    { title: 'Models', cell: ({ models }) => (models ? <Chips words={models} /> : 'Any'), optional: true },
    { title: 'Expires', cell: ({ expiresAt }) => expiryText(expiresAt), optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (key) => (
        <button type="button" class="button small danger" onClick={() => setRevoking(key)}>
          Revoke<span class="visually-hidden"> {key.name}</span>
        </button>
      ),
    },
  ]
  return (
    <>
      <SectionHead
        title="Enrollment keys"
        about={
          <>
            A router sends the key once and gets a token of its own. To try it,{' '}
            <a href={linkTo('connect')}>connect a router</a>.
          </>
        }
      >
        <button type="button" class="button primary" onClick={() => setCreating(true)}>
          <Icon name="plus" size={16} /> New enrollment key
        </button>
      </SectionHead>
      <List
        list={list}
        caption="Enrollment keys"
        columns={columns}
        keyOf={({ id }) => id}
        empty="No enrollment keys yet"
      >
        <p>Create one to put into the configuration of new routers.</p>
      </List>
      {creating ? (
        <CreateDialog
          path={path}
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false)
            setCreated(key)
            list.reload()
          }}
        />
      ) : null}
      {created ? (
        <RevealedSecret
          title={`The enrollment key ${created.name}`}
          label="Enrollment key"
          secret={created.key}
          about="Put the key into the configuration of your routers."
          onClose={() => setCreated(undefined)}
        />
      ) : null}
      {revoking ? (
        <Dialog
          title={`Revoke the enrollment key ${revoking.name}?`}
          submitLabel="Revoke"
          danger
          onClose={() => setRevoking(undefined)}
          onSubmit={async () => {
            await call(`${path}/${revoking.id}`, { method: 'DELETE' })
            setRevoking(undefined)
            list.reload()
          }}
        >
          <p>No more routers can enroll with it. Routers that enrolled keep their tokens.</p>
        </Dialog>
      ) : null}
    </>
  )
}

type CreateProps = { path: string; onClose: () => void; onCreated: (key: NewEnrollmentKey) => void }

function CreateDialog({ path, onClose, onCreated }: CreateProps) {
  const fields = useRef<HTMLDivElement>(null)
  const create = async () => {
    const { name, models = '', maxDevices, days = '' } = fieldsOf(fields.current)
    const allowed = models.split(',').map((model) => model.trim())
    const expiresAt = expiresAtOf(days)
    const body = {
      name,
      autoCreate: tickedOf(fields.current, 'autoCreate').length > 0,
      ...(models && { models: allowed.filter(Boolean) }),
      ...(maxDevices && { maxDevices: Number(maxDevices) }),
      ...(expiresAt && { expiresAt }),
    }
    onCreated(await call<NewEnrollmentKey>(path, { method: 'POST', body }))
  }
  return (
    <Dialog title="New enrollment key" submitLabel="Create" onClose={onClose} onSubmit={create}>
      <div ref={fields} class="fields">
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} placeholder="Workshop" />
        </label>
        <label class="tick">
          <input type="checkbox" name="autoCreate" value="yes" defaultChecked />
          Register routers whose serial is unknown
        </label>
        <label class="field">
          <span>Models, separated by commas (any if empty)</span>
          <input class="input" name="models" placeholder="RX-500, RX-700" />
        </label>
        <label class="field">
          <span>Maximum number of routers (no limit if empty)</span>
          <input class="input" name="maxDevices" type="number" min={1} />
        </label>
        <ExpiryField />
      </div>
    </Dialog>
  )
}
