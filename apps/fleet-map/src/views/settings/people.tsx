import { useRef, useState } from 'preact/hooks'
import { patch, post, remove } from '../../api/client.ts'
import type { Person } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { ago } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { caller, organizationName } from '../../state/session.ts'
import { Invitations, type Invited } from './invitations.tsx'
import { RevealedSecret } from './revealed-secret.tsx'
import { RoleField } from './role-field.tsx'
import { type Role, roleLabel } from './role-text.ts'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'

type Opened =
  | { what: 'invite' }
  | { what: 'role' | 'remove'; person: Person }
  | { what: 'link'; about: string; url: string }

/** Who works with an organization, in which role: invitations, roles and removal. */
export function People({ org }: { org: string }) {
  const path = `/orgs/${org}` as const
  const people = usePages(`${path}/people`, {})
  const invitations = usePages(`${path}/invitations`, {})
  const [opened, open] = useState<Opened | null>(null)
  const [said, say] = useState('')
  const close = () => open(null)
  const invited = ({ email, url }: Invited) => {
    invitations.reload()
    say(url === null ? `The invitation is on its way to ${email}.` : '')
    open(
      url === null ? null : { what: 'link', url, about: `Send this link to ${email}. It works once and for 7 days.` },
    )
  }
  const link = async ({ id, name }: Person) => {
    const { url } = await post(`${path}/people/${id}/sign-in-links`)
    open({ what: 'link', url, about: `${name} can sign in with this link, once and for 24 hours.` })
  }
  return (
    <>
      <SectionHead
        title="People"
        about="People sign in with a link that they get by e-mail. Programs use API keys instead."
      >
        <button type="button" class="button primary" onClick={() => open({ what: 'invite' })}>
          <Icon name="plus" size={16} /> Invite a person
        </button>
      </SectionHead>
      {said ? (
        <p role="status" class="hint">
          {said}
        </p>
      ) : null}
      <List
        list={people}
        caption="People"
        columns={columnsOf(open, link)}
        keyOf={({ id }) => id}
        empty="Nobody has joined yet"
      >
        <p>Invite the colleagues who work with {organizationName(org) ?? 'this organization'}.</p>
      </List>
      <Invitations path={`${path}/invitations`} list={invitations} onInvited={invited} />
      {opened?.what === 'invite' ? (
        <InviteDialog path={`${path}/invitations`} onClose={close} onInvited={invited} />
      ) : null}
      {opened?.what === 'role' ? (
        <RoleDialog
          person={opened.person}
          onClose={close}
          onSave={async (role) => {
            await patch(`${path}/people/${opened.person.id}`, { body: { role } })
            close()
            people.reload()
          }}
        />
      ) : null}
      {opened?.what === 'remove' ? (
        <RemoveDialog
          person={opened.person}
          onClose={close}
          onRemove={async () => {
            await remove(`${path}/people/${opened.person.id}`)
            close()
            people.reload()
          }}
        />
      ) : null}
      {opened?.what === 'link' ? (
        <RevealedSecret title="Link" label="Link" secret={opened.url} about={opened.about} onClose={close} />
      ) : null}
    </>
  )
}

const isMe = ({ id }: Person) => caller.value?.id === `person:${id}`

const columnsOf = (open: (opened: Opened) => void, link: (person: Person) => Promise<void>): Column<Person>[] => [
  {
    title: 'Name',
    cell: (person) => (
      <>
        <strong>{person.name}</strong>
        {isMe(person) ? <span class="hint"> (you)</span> : null}
        <div class={`hint ${css.long}`}>{person.email}</div>
      </>
    ),
  },
  { title: 'Role', cell: ({ role }) => roleLabel[role] },
  { title: 'Last used', cell: ({ lastUsedAt }) => ago(lastUsedAt), optional: true },
  {
    title: 'Joined',
    cell: ({ joinedAt, invitedByName }) => (
      <>
        {ago(joinedAt)}
        {invitedByName ? <div class="hint">invited by {invitedByName}</div> : null}
      </>
    ),
    optional: true,
  },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (person) => (
      <span class="actions">
        {person.emailConfirmed ? null : (
          <button type="button" class="button small" onClick={() => link(person)}>
            Sign-in link<span class="visually-hidden"> for {person.name}</span>
          </button>
        )}
        <button type="button" class="button small" onClick={() => open({ what: 'role', person })}>
          Change role<span class="visually-hidden"> of {person.name}</span>
        </button>
        <button type="button" class="button small danger" onClick={() => open({ what: 'remove', person })}>
          Remove<span class="visually-hidden"> {person.name}</span>
        </button>
      </span>
    ),
  },
]

type InviteProps = {
  path: `/orgs/${string}/invitations`
  onClose: () => void
  onInvited: (invited: Invited) => void
}

function InviteDialog({ path, onClose, onInvited }: InviteProps) {
  const fields = useRef<HTMLDivElement>(null)
  const invite = async () => {
    const { email = '', role } = fieldsOf(fields.current)
    onInvited(await post(path, { body: { email, role: role as Role } }))
  }
  return (
    <Dialog title="Invite a person" submitLabel="Invite" onClose={onClose} onSubmit={invite}>
      <div ref={fields} class={css.fields}>
        <label class="field">
          <span>E-mail address</span>
          <input class="input" name="email" type="email" required maxLength={254} placeholder="ada@example.com" />
        </label>
        <RoleField />
      </div>
    </Dialog>
  )
}

type RoleProps = { person: Person; onClose: () => void; onSave: (role: Role) => Promise<void> }

function RoleDialog({ person, onClose, onSave }: RoleProps) {
  const fields = useRef<HTMLDivElement>(null)
  const save = () => onSave(fieldsOf(fields.current).role as Role)
  return (
    <Dialog title={`Change the role of ${person.name}?`} submitLabel="Save" onClose={onClose} onSubmit={save}>
      <div ref={fields} class={css.fields}>
        <RoleField selected={person.role} />
      </div>
      <p>The new role works within 5 seconds.{isMe(person) ? ' It is your own.' : ''}</p>
    </Dialog>
  )
}

type RemoveProps = { person: Person; onClose: () => void; onRemove: () => Promise<void> }

const RemoveDialog = ({ person, onClose, onRemove }: RemoveProps) => (
  <Dialog title={`Remove ${person.name}?`} submitLabel="Remove" danger onClose={onClose} onSubmit={onRemove}>
    <p>
      {isMe(person)
        ? 'You lose your own access to this organization within 5 seconds.'
        : `${person.name} loses the access to this organization within 5 seconds, in every browser.`}{' '}
      API keys that were created remain valid. An administrator can invite the person again.
    </p>
  </Dialog>
)
