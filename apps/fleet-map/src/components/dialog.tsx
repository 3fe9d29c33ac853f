import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { useChecked } from './checked-form.tsx'

type DialogProps = {
  title: string
  /** The label of the button that submits. Without one, the dialog can only be closed. */
  submitLabel?: string
  danger?: boolean
  /** The label of the button that closes the dialog. */
  closeLabel?: string
  /** The work is done: closing is the main action, also of the Enter key. */
  isDone?: boolean
  onClose: () => void
  /** Receives the named fields. Throws ApiError to keep the dialog open and show the error. */
  onSubmit?: (form: FormData) => Promise<void>
  children: ComponentChildren
}

/**
 * A modal form in a `<dialog>` element. Shows errors at their fields, and others above the buttons. Escape does not discard what
 * was entered at once, and a click beside the dialog does nothing.
 */
export function Dialog(props: DialogProps) {
  const {
    title,
    submitLabel,
    danger = false,
    closeLabel = 'Cancel',
    isDone = false,
    onClose,
    onSubmit,
    children,
  } = props
  const element = useRef<HTMLDialogElement>(null)
  // A dialog that another one replaces must not close the other one.
  const isShown = useRef(true)
  const checked = useChecked(onSubmit)
  const guard = useEntered()
  useEffect(() => {
    const dialog = element.current
    const opener = document.activeElement
    dialog?.showModal()
    return () => {
      isShown.current = false
      dialog?.close()
      // The browser returns the focus only from a dialog that is still part of the page.
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true })
    }
  }, [])
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-label={title}
      onClose={() => isShown.current && onClose()}
      onCancel={(event) => {
        if (event.target === element.current && !isDone && guard.keepsOpen()) event.preventDefault()
      }}
    >
      <form
        ref={checked.form}
        noValidate
        onInput={guard.noteInput}
        onSubmit={(event) => {
          event.preventDefault()
          if (isDone) onClose()
          else void checked.submit()
        }}
      >
        <h2>{title}</h2>
        {children}
        {checked.refusal}
        <Footer
          {...{ submitLabel, danger, closeLabel, isDone, busy: checked.busy, onClose }}
          isWarned={guard.isWarned}
          onSubmit={checked.submit}
        />
      </form>
    </dialog>
  )
}

/** Whether a field was changed, and whether the person was told that a second Escape discards it. */
function useEntered() {
  const isEntered = useRef(false)
  const [isWarned, setWarned] = useState(false)
  return {
    isWarned,
    noteInput: () => {
      isEntered.current = true
      setWarned(false)
    },
    /** True once: the first Escape warns, the second one closes. */
    keepsOpen: () => {
      if (!isEntered.current || isWarned) return false
      setWarned(true)
      return true
    },
  }
}

type FooterProps = {
  submitLabel: string | undefined
  danger: boolean
  closeLabel: string
  isDone: boolean
  busy: boolean
  /** The next Escape discards what was entered. */
  isWarned: boolean
  onClose: () => void
  onSubmit: () => Promise<void>
}

const Footer = ({ submitLabel, danger, closeLabel, isDone, busy, isWarned, onClose, onSubmit }: FooterProps) => (
  <footer>
    {isWarned ? (
      <p class="warning" role="status">
        Press Escape again to discard your changes.
      </p>
    ) : null}
    {isDone ? null : (
      <button type="button" class="button" onClick={onClose}>
        {closeLabel}
      </button>
    )}
    {isDone && submitLabel !== undefined ? (
      <button type="button" class="button" disabled={busy} onClick={() => void onSubmit()}>
        {submitLabel}
      </button>
    ) : null}
    {isDone ? (
      <button type="submit" class="button primary">
        {closeLabel}
      </button>
    ) : submitLabel === undefined ? null : (
      <button type="submit" class={`button ${danger ? 'danger' : 'primary'}`} disabled={busy}>
        {busy ? 'Please wait …' : submitLabel}
      </button>
    )}
  </footer>
)
