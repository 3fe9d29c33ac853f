import { remove } from '../../api/client.ts'
import type { OrganizationSession, Session } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { ago, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { type ListPages, usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { caller, holds, homeOrganizationId, organizationName } from '../../state/session.ts'
import { leave } from '../../state/sign-in.ts'
import { browserName } from './browser-name.ts'
import { List, SectionHead } from './section.tsx'

/** The browsers in which the same person is signed in, and for administrators those of all people they are responsible for. */
export function Sessions() {
  const who = caller.value?.name ?? caller.value?.id
  const org = homeOrganizationId.value
  return (
    <>
      <SectionHead
        title="Sign-in sessions"
        about={who ? `Browsers that are signed in as ${who}.` : 'Browsers in which you are signed in.'}
      />
      <OwnSessions />
      {caller.value?.platform ? <PlatformSessions /> : null}
      {org && holds(org, 'key:manage') ? <OrganizationSessions key={org} org={org} /> : null}
    </>
  )
}

function OwnSessions() {
  const { list, failure, columns } = useSessions(usePages('/auth/sessions', {}), (id) => remove(`/auth/sessions/${id}`))
  return (
    <>
      <FailureNotice reason={failure} />
      <List list={list} caption="Sign-in sessions" columns={columns} keyOf={({ id }) => id} empty="No sessions">
        <p>This tab is signed in with an API key. It keeps the key until you close it.</p>
      </List>
    </>
  )
}

const person: Column<OrganizationSession> = {
  title: 'Person',
  cell: ({ name, principalId }) => (
    <>
      <strong>{name ?? principalId}</strong>
      <div class="hint">{kindOf(principalId)}</div>
    </>
  ),
}

function kindOf(principalId: string): string {
  if (principalId.startsWith('key:')) return 'Link of an API key'
  return principalId.startsWith('person:') ? 'Invited' : 'Identity provider'
}

function PlatformSessions() {
  const { list, failure, columns } = useSessions(usePages('/sessions', { platform: true }), (id) =>
    remove(`/sessions/${id}`),
  )
  return (
    <>
      <div class="section-title">
        <h2>Platform administrators</h2>
        <p class="hint">Who is signed in with access to all organizations.</p>
      </div>
      <FailureNotice reason={failure} />
      <List
        list={list}
        caption="Platform administrators who are signed in"
        columns={[person, ...columns]}
        keyOf={({ id }) => id}
        empty="No platform administrator is signed in with a session"
      />
    </>
  )
}

function OrganizationSessions({ org }: { org: string }) {
  const { list, failure, columns } = useSessions(usePages(`/orgs/${org}/sessions`, {}), (id) =>
    remove(`/orgs/${org}/sessions/${id}`),
  )
  return (
    <>
      <div class="section-title">
        <h2>People of {organizationName(org) ?? 'the organization'}</h2>
        <p class="hint">Who is signed in to this organization. A person whose session you end can sign in again.</p>
      </div>
      <FailureNotice reason={failure} />
      <List
        list={list}
        caption="People who are signed in"
        columns={[person, ...columns]}
        keyOf={({ id }) => id}
        empty="No one is signed in with a session"
      />
    </>
  )
}

/** Returns the columns that all lists of sessions have. `endSession` ends a session by its id. */
function useSessions<Row extends Session>(list: ListPages<Row>, endSession: (id: string) => Promise<unknown>) {
  const { busy, failure, run } = useAction()
  const end = ({ id, current }: Session) =>
    run(async () => {
      if (current) return leave()
      await endSession(id)
      list.reload()
    })
  const columns: Column<Row>[] = [
    {
      title: 'Browser',
      cell: ({ userAgent, current }) => (
        <span title={userAgent ?? ''}>
          <strong>{browserName(userAgent)}</strong>
          {current ? <div class="hint">This browser</div> : null}
        </span>
      ),
    },
    {
      title: 'Signed in',
      cell: ({ createdAt }) => <span title={moment(createdAt)}>{ago(createdAt)}</span>,
      optional: true,
    },
    { title: 'Last used', cell: ({ current, lastUsedAt }) => (current ? 'now' : ago(lastUsedAt)), optional: true },
    { title: 'Ends', cell: ({ expiresAt }) => <span title={moment(expiresAt)}>{ago(expiresAt)}</span>, optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (session) => (
        <button type="button" class="button small danger" disabled={busy} onClick={() => end(session)}>
          {session.current ? 'Sign out' : 'End session'}
        </button>
      ),
    },
  ]
  return { list, failure, columns }
}
