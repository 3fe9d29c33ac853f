import { useState } from 'preact/hooks'
import { all, remove } from '../../api/client.ts'
import type { EnrollmentKey, Group, NewEnrollmentKey } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Chips, type Column } from '../../components/table.tsx'
import { holds } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { expiryText } from './expiry.tsx'
import { NewEnrollmentKeyDialog } from './new-enrollment-key.tsx'
import { RevealedSecret } from './revealed-secret.tsx'
import { List, SectionHead } from './section.tsx'

/** Creates and revokes the keys with which routers enroll, and those of gateways. */
export function EnrollmentKeys({ org }: { org: string }) {
  const list = usePages(`/orgs/${org}/enrollment-keys`, {})
  const [creating, setCreating] = useState(false)
  const [created, setCreated] = useState<NewEnrollmentKey>()
  const groups = useGroups(org)
  const [revoking, setRevoking] = useState<EnrollmentKey>()
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
        {holds(org, 'org:write') ? (
          <button type="button" class="button primary" onClick={() => setCreating(true)}>
            <Icon name="plus" size={16} /> New enrollment key
          </button>
        ) : null}
      </SectionHead>
      <List
        list={list}
        caption="Enrollment keys"
        columns={columnsOf(groups, setRevoking)}
        keyOf={({ id }) => id}
        empty="No enrollment keys yet"
      >
        <p>Create one to put into the configuration of new routers.</p>
      </List>
      {creating ? (
        <NewEnrollmentKeyDialog
          org={org}
          groups={groups}
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
          about={
            created.allowGateway
              ? 'Start the gateway with the key as GATEWAY_KEY.'
              : 'Put the key into the configuration of your routers.'
          }
          onClose={() => setCreated(undefined)}
        />
      ) : null}
      {revoking ? (
        <RevokeDialog
          org={org}
          enrollmentKey={revoking}
          onClose={() => setRevoking(undefined)}
          onRevoked={() => {
            setRevoking(undefined)
            list.reload()
          }}
        />
      ) : null}
    </>
  )
}

type RevokeProps = { org: string; enrollmentKey: EnrollmentKey; onClose: () => void; onRevoked: () => void }

const RevokeDialog = ({ org, enrollmentKey: { id, name, allowGateway }, onClose, onRevoked }: RevokeProps) => (
  <Dialog
    title={`Revoke the enrollment key ${name}?`}
    submitLabel="Revoke"
    danger
    onClose={onClose}
    onSubmit={async () => {
      await remove(`/orgs/${org}/enrollment-keys/${id}`)
      onRevoked()
    }}
  >
    <p>
      {allowGateway ? 'The gateway with this key stops within 5 seconds. ' : ''}
      No more routers can enroll with it. Routers that enrolled keep their tokens.
    </p>
  </Dialog>
)

const columnsOf = (groups: readonly Group[], onRevoke: (key: EnrollmentKey) => void): Column<EnrollmentKey>[] => [
  {
    title: 'Name',
    cell: (key) => (
      <>
        <strong>{key.name}</strong>
        <div class="hint">{useOf(key, groups)}</div>
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
      <button type="button" class="button small danger" onClick={() => onRevoke(key)}>
        Revoke<span class="visually-hidden"> {key.name}</span>
      </button>
    ),
  },
]

/** The groups of the organization, to which the key of a gateway can be bound. */
function useGroups(org: string): readonly Group[] {
  const mayRead = holds(org, 'group:read')
  return useResource(`groups ${org} ${mayRead}`, async () => (mayRead ? all(`/orgs/${org}/groups`) : [])).value ?? []
}

function useOf({ allowGateway, autoCreate, groupId }: EnrollmentKey, groups: readonly Group[]): string {
  if (!allowGateway) return autoCreate ? 'Registers unknown routers' : 'Only registered routers'
  if (groupId === null) return 'Gateway of all devices'
  const group = groups.find(({ id }) => id === groupId)
  return group ? `Gateway of the group ${group.name}` : 'Gateway of a group'
}
