import { useRef, useState } from 'preact/hooks'
import { post, remove } from '../../api/client.ts'
import type { ApiKey, NewApiKey } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { ago } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { ExpiryField, expiresAtOf, expiryText } from './expiry.tsx'
import { GraceField } from './grace-field.tsx'
import { RevealedSecret } from './revealed-secret.tsx'
import { RoleField } from './role-field.tsx'
import { type Role, roleLabel } from './role-text.ts'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'

const roleOf = ({ role, scopes }: ApiKey) => (role ? roleLabel[role] : `${scopes.length} scopes`)

type Opened = { what: 'create' } | { what: 'rotate' | 'revoke'; key: ApiKey } | { what: 'reveal'; key: NewApiKey }

/** Creates, rotates and revokes the organization's API keys. */
export function ApiKeys({ org }: { org: string }) {
  const path = `/orgs/${org}/api-keys` as const
  const list = usePages(path, {})
  const [opened, open] = useState<Opened | null>(null)
  const close = () => open(null)
  const reveal = (key: NewApiKey) => {
    open({ what: 'reveal', key })
    list.reload()
  }
  return (
    <>
      <SectionHead title="API keys" about="Programs call the API with a key. The service stores only its hash.">
        <button type="button" class="button primary" onClick={() => open({ what: 'create' })}>
          <Icon name="plus" size={16} /> New API key
        </button>
      </SectionHead>
      <List list={list} caption="API keys" columns={columnsOf(open)} keyOf={({ id }) => id} empty="No API keys yet">
        <p>Create a key for each program, so that you can revoke one without the others.</p>
      </List>
      {opened?.what === 'create' ? <CreateDialog path={path} onClose={close} onCreated={reveal} /> : null}
      {opened?.what === 'rotate' ? (
        <RotateDialog path={path} apiKey={opened.key} onClose={close} onCreated={reveal} />
      ) : null}
      {opened?.what === 'reveal' ? (
        <RevealedSecret
          title={`The key of ${opened.key.name}`}
          label="API key"
          secret={opened.key.key}
          about="Copy the key and store it in a safe place."
          onClose={close}
        />
      ) : null}
      {opened?.what === 'revoke' ? (
        <Dialog
          title={`Revoke the key ${opened.key.name}?`}
          submitLabel="Revoke"
          danger
          onClose={close}
          onSubmit={async () => {
            await remove(`${path}/${opened.key.id}`)
            close()
            list.reload()
          }}
        >
          <p>
            Programs that use it are refused within 5 seconds. The key was last used {ago(opened.key.lastUsedAt)}. This
            cannot be undone.
          </p>
        </Dialog>
      ) : null}
    </>
  )
}

const columnsOf = (open: (opened: Opened) => void): Column<ApiKey>[] => [
  {
    title: 'Name',
    cell: ({ name, id }) => (
      <>
        <strong>{name}</strong>
        <div class="hint">
          <code>flk_{id.slice(0, 8)}…</code>
        </div>
      </>
    ),
  },
  { title: 'Role', cell: (key) => <span title={key.scopes.join(', ')}>{roleOf(key)}</span>, optional: true },
  { title: 'Last used', cell: ({ lastUsedAt }) => ago(lastUsedAt) },
  { title: 'Expires', cell: ({ expiresAt }) => expiryText(expiresAt), optional: true },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (key) => (
      <span class="actions">
        <button type="button" class="button small" onClick={() => open({ what: 'rotate', key })}>
          Rotate<span class="visually-hidden"> {key.name}</span>
        </button>
        <button type="button" class="button small danger" onClick={() => open({ what: 'revoke', key })}>
          Revoke<span class="visually-hidden"> {key.name}</span>
        </button>
      </span>
    ),
  },
]

type CreateProps = { path: `/orgs/${string}/api-keys`; onClose: () => void; onCreated: (key: NewApiKey) => void }

function CreateDialog({ path, onClose, onCreated }: CreateProps) {
  const fields = useRef<HTMLDivElement>(null)
  const create = async () => {
    const { name = '', role, days = '' } = fieldsOf(fields.current)
    const expiresAt = expiresAtOf(days)
    onCreated(await post(path, { body: { name, role: role as Role, ...(expiresAt && { expiresAt }) } }))
  }
  return (
    <Dialog title="New API key" submitLabel="Create" onClose={onClose} onSubmit={create}>
      <div ref={fields} class={css.fields}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} placeholder="Dashboard" />
        </label>
        <RoleField />
        <ExpiryField />
      </div>
    </Dialog>
  )
}

function RotateDialog({ path, apiKey, onClose, onCreated }: CreateProps & { apiKey: ApiKey }) {
  const fields = useRef<HTMLDivElement>(null)
  const rotate = async () => {
    const body = { oldKeyExpiresInMinutes: Number(fieldsOf(fields.current).grace) }
    onCreated(await post(`${path}/${apiKey.id}/rotate`, { body }))
  }
  return (
    <Dialog title={`Rotate the key ${apiKey.name}?`} submitLabel="Rotate" onClose={onClose} onSubmit={rotate}>
      <p>You get a new key with the same name and scopes.</p>
      <div ref={fields} class={css.fields}>
        <GraceField label="The old key stops working" minutes={60} />
      </div>
    </Dialog>
  )
}
