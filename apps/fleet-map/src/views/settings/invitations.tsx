import { post, remove } from '../../api/client.ts'
import type { Invitation } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { ago, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import type { ListPages } from '../../components/pages.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { roleLabel } from './role-text.ts'
import css from './settings.module.css'

/** A new invitation. `url`: its link, if the service does not send it. */
export type Invited = Invitation & { url: string | null }

type InvitationsProps = {
  path: `/orgs/${string}/invitations`
  list: ListPages<Invitation>
  onInvited: (invited: Invited) => void
}

/** Invitations that nobody has accepted yet. */
export function Invitations({ path, list, onInvited }: InvitationsProps) {
  const { busy, failure, run } = useAction()
  if (list.items.length === 0) return null
  const again = ({ email, role }: Invitation) => run(async () => onInvited(await post(path, { body: { email, role } })))
  const withdraw = ({ id }: Invitation) =>
    run(async () => {
      await remove(`${path}/${id}`)
      list.reload()
    })
  const columns: Column<Invitation>[] = [
    { title: 'E-mail address', cell: ({ email }) => <strong class={css.long}>{email}</strong> },
    { title: 'Role', cell: ({ role }) => roleLabel[role], optional: true },
    { title: 'State', cell: (invitation) => stateOf(invitation) },
    {
      title: 'Invited',
      cell: ({ createdAt, invitedByName }) => (
        <span title={moment(createdAt)}>
          {ago(createdAt)}
          {invitedByName ? <div class="hint">by {invitedByName}</div> : null}
        </span>
      ),
      optional: true,
    },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (invitation) => (
        <span class="actions">
          <button type="button" class="button small" disabled={busy} onClick={() => again(invitation)}>
            {invitation.mail ? 'Send again' : 'New link'}
            <span class="visually-hidden"> for {invitation.email}</span>
          </button>
          <button type="button" class="button small danger" disabled={busy} onClick={() => withdraw(invitation)}>
            Withdraw<span class="visually-hidden"> the invitation of {invitation.email}</span>
          </button>
        </span>
      ),
    },
  ]
  return (
    <>
      <div class="section-title">
        <h2>Invitations</h2>
        <p class="hint">Nobody has accepted these yet.</p>
      </div>
      <FailureNotice reason={failure} />
      <Table caption="Invitations" columns={columns} rows={list.items} keyOf={({ id }) => id} />
    </>
  )
}

function stateOf({ expiresAt, mail }: Invitation) {
  if (Date.parse(expiresAt) <= Date.now()) return 'Expired'
  if (mail === null) return 'The link was shown'
  if (mail.state === 'sent') return 'Sent'
  return (
    <span title={mail.error ?? ''}>
      {mail.state === 'failed' ? 'Not sent' : 'On its way'}
      {mail.error ? <div class="hint">{mail.error}</div> : null}
    </span>
  )
}
