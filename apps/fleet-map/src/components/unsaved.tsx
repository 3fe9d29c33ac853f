import { useEffect, useRef, useState } from 'preact/hooks'
import { goTo, guardLeaving, type PageAddress } from '../state/url.ts'
import { Dialog } from './dialog.tsx'

/**
 * Asks before the page leaves a form with changes. `isElsewhere`: whether an address does not show the form. The form calls
 * `noteChange` for each change and `forget` when it was saved or is cancelled, and shows `question`.
 */
export function useUnsaved(isElsewhere: (next: PageAddress) => boolean) {
  const isChanged = useRef(false)
  const [asked, ask] = useState<PageAddress>()
  useEffect(
    () =>
      guardLeaving((next) => {
        if (!isChanged.current || !isElsewhere(next)) return false
        ask(next)
        return true
      }),
    [],
  )
  const forget = () => {
    isChanged.current = false
  }
  const question = asked ? (
    <Dialog
      title="Discard your changes?"
      submitLabel="Discard"
      closeLabel="Keep editing"
      danger
      onClose={() => ask(undefined)}
      onSubmit={async () => {
        forget()
        ask(undefined)
        goTo(asked.view, asked.params, [])
      }}
    >
      <p>What you entered is not saved.</p>
    </Dialog>
  ) : null
  const noteChange = () => {
    isChanged.current = true
  }
  return { noteChange, forget, question }
}
