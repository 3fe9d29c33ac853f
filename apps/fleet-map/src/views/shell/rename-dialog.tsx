import { patch, sessionCaller } from '../../api/client.ts'
import { Dialog } from '../../components/dialog.tsx'
import { caller } from '../../state/session.ts'

/** Changes the name of the person who is signed in. */
export function RenameDialog({ onClose }: { onClose: () => void }) {
  const save = async (form: FormData) => {
    sessionCaller.value = await patch('/auth/me', { body: { name: String(form.get('name') ?? '').trim() } })
    onClose()
  }
  return (
    <Dialog title="Change your name" submitLabel="Save" onClose={onClose} onSubmit={save}>
      <label class="field">
        <span>Your name, as your colleagues see it</span>
        <input
          class="input"
          name="name"
          required
          maxLength={200}
          autocomplete="name"
          defaultValue={caller.value?.name ?? ''}
        />
      </label>
    </Dialog>
  )
}
