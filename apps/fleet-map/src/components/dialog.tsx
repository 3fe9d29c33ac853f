import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'

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

/** A modal form in a `<dialog>` element. Shows errors of `onSubmit` above the buttons. */
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
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => {
      isShown.current = false
      dialog?.close()
    }
  }, [])
  const submit = async (fields: FormData) => {
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit?.(fields)
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <dialog ref={element} class="dialog" onClose={() => isShown.current && onClose()} aria-label={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (isDone) onClose()
          else void submit(new FormData(event.currentTarget))
        }}
      >
        <h2>{title}</h2>
        {children}
        {error ? <Refusal error={error} /> : null}
        <footer>
          {isDone && submitLabel !== undefined ? (
            <button
              type="button"
              class="button"
              disabled={busy}
              onClick={({ currentTarget: { form } }) => form?.reportValidity() && void submit(new FormData(form))}
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
      </form>
    </dialog>
  )
}

/** Why the form was refused. The message of an error with a single field already contains it. */
function Refusal({ error }: { error: ApiError }) {
  const unsaid = error.fields.filter(({ detail }) => !error.message.includes(detail))
  return (
    <div class="notice bad" role="alert">
      {error.message}
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
