import { useRef, useState } from 'preact/hooks'
import { post, remove } from '../../api/client.ts'
import type { Webhook } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf } from '../../components/form.ts'
import { moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { GraceField } from './grace-field.tsx'
import { RevealedSecret } from './revealed-secret.tsx'
import css from './settings.module.css'

type WebhookSecretProps = { path: `/orgs/${string}/webhooks/${string}`; hook: Webhook; onChanged: () => void }

/** Rotates the signing secret of a webhook, says until when the old one signs too, and ends it early. */
export function WebhookSecret({ path, hook, onChanged }: WebhookSecretProps) {
  const { busy, failure, run } = useAction()
  const [opened, open] = useState<'rotate' | { secret: string } | null>(null)
  const close = () => open(null)
  const endOld = () =>
    run(async () => {
      await remove(`${path}/old-secret`)
      onChanged()
    })
  return (
    <>
      <p>
        <button type="button" class="button small" onClick={() => open('rotate')}>
          Rotate secret
        </button>
      </p>
      {hook.oldSecretExpiresAt ? (
        <div class="notice">
          Until {moment(hook.oldSecretExpiresAt)}, deliveries also have a signature with the old secret.{' '}
          <button type="button" class="button small" disabled={busy} onClick={endOld}>
            End the old secret now
          </button>
        </div>
      ) : null}
      <FailureNotice reason={failure} />
      {opened === 'rotate' ? (
        <RotateDialog
          path={path}
          onClose={close}
          onRotated={(secret) => {
            open({ secret })
            onChanged()
          }}
        />
      ) : null}
      {opened !== null && opened !== 'rotate' ? (
        <RevealedSecret
          title="The new signing secret"
          label="Signing secret"
          secret={opened.secret}
          about="Give it to your program before the old one expires."
          onClose={close}
        />
      ) : null}
    </>
  )
}

type RotateDialogProps = Pick<WebhookSecretProps, 'path'> & { onClose: () => void; onRotated: (secret: string) => void }

function RotateDialog({ path, onClose, onRotated }: RotateDialogProps) {
  const fields = useRef<HTMLDivElement>(null)
  const rotate = async () => {
    const body = { oldSecretExpiresInMinutes: Number(fieldsOf(fields.current).grace) }
    const { secret } = await post(`${path}/rotate-secret`, { body })
    onRotated(secret)
  }
  return (
    <Dialog title="Rotate the signing secret?" submitLabel="Rotate" onClose={onClose} onSubmit={rotate}>
      <p>You get a new secret. Until the old one expires, deliveries have a signature with each.</p>
      <div ref={fields} class={css.fields}>
        <GraceField label="The old secret expires" minutes={1_440} />
      </div>
    </Dialog>
  )
}
