import { call, signOut } from '../../api/client.ts'
import { useAction } from '../../components/action.ts'
import { ago, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { caller } from '../../state/session.ts'
import { browserName } from './browser-name.ts'
import { List, SectionHead } from './section.tsx'

type Session = {
  id: string
  current: boolean
  userAgent: string | null
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string
}

/** The browsers in which the same person is signed in. */
export function Sessions() {
  const list = usePages<Session>('/auth/sessions', {})
  const { busy, failure, run } = useAction()
  const end = ({ id, current }: Session) =>
    run(async () => {
      if (current) return signOut()
      await call(`/auth/sessions/${id}`, { method: 'DELETE' })
      list.reload()
    })
  const columns: Column<Session>[] = [
    {
      title: 'Browser',
      cell: ({ userAgent, current }) => (
        <span title={userAgent ?? ''}>
          <strong>{browserName(userAgent)}</strong>
          {current ? <div class="hint">This browser</div> : null}
        </span>
      ),
    },
    { title: 'Signed in', cell: ({ createdAt }) => <span title={moment(createdAt)}>{ago(createdAt)}</span> },
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
  const who = caller.value?.name ?? caller.value?.id
  return (
    <>
      <SectionHead
        title="Sign-in sessions"
        about={who ? `Browsers that are signed in as ${who}.` : 'Browsers in which you are signed in.'}
      />
      <FailureNotice reason={failure} />
      <List list={list} caption="Sign-in sessions" columns={columns} keyOf={({ id }) => id} empty="No sessions">
        <p>This tab is signed in with an API key. It keeps the key until you close it.</p>
      </List>
    </>
  )
}
