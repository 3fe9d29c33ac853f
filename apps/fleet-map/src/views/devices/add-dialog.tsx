import { post } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { wordsOf } from '../../components/words.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { OrganizationPicker } from '../shell/shell.tsx'

/** Registers a device. */
export const AddDialog = ({ onClose, onAdded }: { onClose: () => void; onAdded: (device: Device) => void }) => (
  <Dialog
    title="Add a device"
    submitLabel="Add"
    onClose={onClose}
    onSubmit={async (form) => {
      const text = (name: string) => String(form.get(name) ?? '').trim()
      const body = {
        organizationId: homeOrganizationId.value,
        serial: text('serial'),
        name: text('name'),
        model: text('model'),
        tags: wordsOf(text('tags')),
      }
      onAdded(await post('/devices', { body }))
    }}
  >
    <OrganizationPicker allowAll={false} />
    <label class="field">
      <span>Serial (cannot be changed later)</span>
      <input class="input" name="serial" required maxLength={64} />
    </label>
    <label class="field">
      <span>Name</span>
      <input class="input" name="name" required maxLength={200} />
    </label>
    <label class="field">
      <span>Model</span>
      <input class="input" name="model" required maxLength={200} />
    </label>
    <label class="field">
      <span>Tags, separated by commas</span>
      <input class="input" name="tags" placeholder="vehicle, berlin" />
    </label>
  </Dialog>
)
