import { useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import { type ChosenDevices, DevicePicker } from '../../components/device-picker.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { plural } from '../../components/format.ts'

type MemberDialogProps = { org: string; groupId: string; onClose: () => void; onAdded: () => void }

/** Searches for devices and adds the selected ones to the group. */
export function MemberDialog({ org, groupId, onClose, onAdded }: MemberDialogProps) {
  const [chosen, setChosen] = useState<ChosenDevices>(new Map())
  return (
    <Dialog
      title="Add devices to the group"
      submitLabel={chosen.size > 0 ? `Add ${plural(chosen.size, 'device')}` : 'Add devices'}
      onClose={onClose}
      onSubmit={async () => {
        await post(`/orgs/${org}/groups/${groupId}/members`, {
          body: { deviceIds: [...chosen.keys()] },
        })
        onAdded()
      }}
    >
      <DevicePicker org={org} chosen={chosen} onChange={setChosen} />
    </Dialog>
  )
}
