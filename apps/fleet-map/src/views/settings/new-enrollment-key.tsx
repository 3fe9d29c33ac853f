import { useRef, useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import type { Group, NewEnrollmentKey } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf, tickedOf } from '../../components/form.ts'
import { holds } from '../../state/session.ts'
import { ExpiryField, expiresAtOf } from './expiry.tsx'
import css from './settings.module.css'

type Props = {
  org: string
  groups: readonly Group[]
  onClose: () => void
  onCreated: (key: NewEnrollmentKey) => void
}

/** Creates a key for routers, or for a gateway if the caller may create one. */
export function NewEnrollmentKeyDialog({ org, groups, onClose, onCreated }: Props) {
  const fields = useRef<HTMLDivElement>(null)
  const [isGateway, setIsGateway] = useState(false)
  const create = async () => {
    const { name = '', groupId, models = '', maxDevices, days = '' } = fieldsOf(fields.current)
    const allowed = models.split(',').map((model) => model.trim())
    const expiresAt = expiresAtOf(days)
    const body = {
      name,
      autoCreate: tickedOf(fields.current, 'autoCreate').length > 0,
      ...(isGateway && { allowGateway: true }),
      ...(groupId && { groupId }),
      ...(models && { models: allowed.filter(Boolean) }),
      ...(maxDevices && { maxDevices: Number(maxDevices) }),
      ...(expiresAt && { expiresAt }),
    }
    onCreated(await post(`/orgs/${org}/enrollment-keys`, { body }))
  }
  return (
    <Dialog title="New enrollment key" submitLabel="Create" onClose={onClose} onSubmit={create}>
      <div ref={fields} class={css.fields}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} placeholder="Workshop" />
        </label>
        {(['device:update', 'config:apply'] as const).every((scope) => holds(org, scope)) ? (
          <label class="field">
            <span>For</span>
            <select
              class="input"
              value={isGateway ? 'gateway' : ''}
              onChange={(event) => setIsGateway(event.currentTarget.value === 'gateway')}
            >
              <option value="">Routers that enroll</option>
              <option value="gateway">A gateway</option>
            </select>
          </label>
        ) : null}
        {isGateway ? <GatewayFields groups={groups} /> : <RouterFields />}
        <ExpiryField />
      </div>
    </Dialog>
  )
}

const GatewayFields = ({ groups }: { groups: readonly Group[] }) => (
  <>
    <label class="field">
      <span>Devices that the gateway speaks for</span>
      <select class="input" name="groupId">
        <option value="">All devices</option>
        {groups.map(({ id, name }) => (
          <option key={id} value={id}>
            Members of {name}
          </option>
        ))}
      </select>
    </label>
    <p class="label">The gateway reads the configuration of devices without a token, with its secrets.</p>
  </>
)

const RouterFields = () => (
  <>
    <label class={css.tick}>
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
  </>
)
