import { useState } from 'preact/hooks'
import { all, post, remove } from '../../api/client.ts'
import type { Device, DeviceToken } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago, moment } from '../../components/format.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import css from './device.module.css'

/** The device's tokens: issue, show once, revoke. */
export function DeviceTokens({ device, onChanged }: { device: Device; onChanged: () => void }) {
  const tokens = useResource(`tokens ${device.id}`, () => all(`/devices/${device.id}/tokens`))
  const [open, setOpen] = useState<{ revoke: DeviceToken } | 'issue' | null>(null)
  const [issued, setIssued] = useState<string>()
  const close = () => {
    setOpen(null)
    setIssued(undefined)
  }
  const changed = () => {
    tokens.reload()
    onChanged()
  }
  const items = tokens.value ?? []
  return (
    <section class="card panel" aria-label="Tokens">
      <div class="toolbar">
        <h2 class="grow">Tokens</h2>
        <ForScope org={device.organizationId} scope="device:update">
          <button type="button" class="button small" onClick={() => setOpen('issue')}>
            Issue token
          </button>
        </ForScope>
      </div>
      {tokens.error ? <p class="label">{tokens.error.message}</p> : null}
      {tokens.value && items.length === 0 ? (
        <p class="label">This device has no token, so it cannot report. Issue one, or enroll the router.</p>
      ) : null}
      <ul class="stack">
        {items.map((token) => (
          <li key={token.id} class={css.token}>
            <span class="stacked">
              <code>fld_{token.id}_…</code>
              <span class="hint">
                issued {ago(token.createdAt)}
                {token.expiresAt ? `, expires ${moment(token.expiresAt)}` : ''}
              </span>
            </span>
            <ForScope org={device.organizationId} scope="device:update">
              <button type="button" class="button quiet small" onClick={() => setOpen({ revoke: token })}>
                Revoke
              </button>
            </ForScope>
          </li>
        ))}
      </ul>
      {open === 'issue' && issued === undefined ? (
        <Dialog
          title={`Issue a token for ${device.name}`}
          submitLabel="Issue"
          onClose={close}
          onSubmit={async (form) => {
            const body = { revoke: form.has('revoke') }
            setIssued((await post(`/devices/${device.id}/token`, { body })).token)
            changed()
          }}
        >
          <p>The router reports with this token. Earlier tokens stay valid for 24 hours.</p>
          <label class="choice">
            <input type="checkbox" name="revoke" />
            <span>Revoke all earlier tokens now</span>
          </label>
        </Dialog>
      ) : null}
      {issued !== undefined ? <IssuedToken token={issued} onClose={close} /> : null}
      {open !== null && typeof open === 'object' ? (
        <RevokeDialog
          tokenId={open.revoke.id}
          onClose={close}
          onRevoke={async () => {
            await remove(`/devices/${device.id}/tokens/${open.revoke.id}`)
            close()
            changed()
          }}
        />
      ) : null}
    </section>
  )
}

type RevokeDialogProps = { tokenId: string; onClose: () => void; onRevoke: () => Promise<void> }

const RevokeDialog = ({ tokenId, onClose, onRevoke }: RevokeDialogProps) => (
  <Dialog title="Revoke this token?" submitLabel="Revoke" danger onClose={onClose} onSubmit={onRevoke}>
    <p>
      The service rejects <code>fld_{tokenId}_…</code> at once. A router that uses it cannot report until it has another
      token.
    </p>
  </Dialog>
)

/** Shows a new token, which the service does not show again. */
function IssuedToken({ token, onClose }: { token: string; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false)
  return (
    <Dialog
      title="The new token"
      submitLabel={isCopied ? 'Copied' : 'Copy'}
      closeLabel="Done"
      onClose={onClose}
      onSubmit={async () => {
        await navigator.clipboard.writeText(token)
        setCopied(true)
      }}
    >
      <p>Copy the token now. It is not shown again.</p>
      <label class="field">
        <span>Token</span>
        <input class={`input ${css.mono}`} readOnly value={token} onFocus={(event) => event.currentTarget.select()} />
      </label>
    </Dialog>
  )
}
