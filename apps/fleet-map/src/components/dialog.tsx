import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { clearFields, showAtFields } from './field-errors.ts'

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

const typedFields = 'textarea, input:not([type=checkbox], [type=radio])'

/**
 * A modal form in a `<dialog>` element. Shows errors of `onSubmit` at their fields, and others above the buttons. Escape does not
 * discard what was typed at once.
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
  const [refusal, setRefusal] = useState<RefusalProps>()
  const [busy, setBusy] = useState(false)
  const guard = useTypedText()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => {
      isShown.current = false
      dialog?.close()
    }
  }, [])
  const submit = async (form: HTMLFormElement) => {
    setBusy(true)
    setRefusal(undefined)
    clearFields(form)
    try {
      await onSubmit?.(new FormData(form))
    } catch (failure) {
      const error = failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure))
      setRefusal({ error, unplaced: showAtFields(form, error.fields) })
    } finally {
      setBusy(false)
    }
  }
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
        onInput={guard.noteInput}
        onSubmit={(event) => {
          event.preventDefault()
          if (isDone) onClose()
          else void submit(event.currentTarget)
        }}
      >
        <h2>{title}</h2>
        {children}
        {refusal ? <Refusal {...refusal} /> : null}
        {guard.isWarned ? (
          <p class="notice" role="status">
            Press Escape again to discard what you typed.
          </p>
        ) : null}
        <Footer {...{ submitLabel, danger, closeLabel, isDone, busy, onClose }} onSubmit={submit} />
      </form>
    </dialog>
  )
}

/** Whether a text field was changed, and whether the person was told that a second Escape discards it. */
function useTypedText() {
  const isTyped = useRef(false)
  const [isWarned, setWarned] = useState(false)
  return {
    isWarned,
    noteInput: ({ target }: Event) => {
      isTyped.current ||= (target as HTMLElement).matches(typedFields)
      setWarned(false)
    },
    /** True once: the first Escape warns, the second one closes. */
    keepsOpen: () => {
      if (!isTyped.current || isWarned) return false
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
  onClose: () => void
  onSubmit: (form: HTMLFormElement) => Promise<void>
}

const Footer = ({ submitLabel, danger, closeLabel, isDone, busy, onClose, onSubmit }: FooterProps) => (
  <footer>
    {isDone && submitLabel !== undefined ? (
      <button
        type="button"
        class="button"
        disabled={busy}
        onClick={({ currentTarget: { form } }) => form?.reportValidity() && void onSubmit(form)}
      >
        {submitLabel}
      </button>
    ) : (
      <button type="button" class="button" onClick={onClose}>
        {closeLabel}
      </button>
    )}
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

/** `unplaced`: what is wrong with no field of the form. */
type RefusalProps = { error: ApiError; unplaced: ApiError['fields'] }

/** Why the form was refused, unless its fields say it. The message of an error with a single field already contains it. */
function Refusal({ error, unplaced }: RefusalProps) {
  const isAtFields = error.fields.length > 0 && unplaced.length === 0
  const unsaid = unplaced.filter(({ detail }) => !error.message.includes(detail))
  return (
    <div class="notice bad" role="alert">
      {isAtFields ? 'Nothing was saved. Correct the marked fields.' : error.message}
      {unsaid.length > 0 ? (
        <ul>
          {unsaid.map((field) => (
            <li key={field.pointer}>
              {field.pointer}: {field.detail}
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  )
}
