import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'

type DialogProps = {
  title: string
  submitLabel: string
  danger?: boolean
  onClose: () => void
  /** Throws ApiError to keep the dialog open and show the error. */
  onSubmit: () => Promise<void>
  children: ComponentChildren
}

/** A modal form in a `<dialog>` element. Shows errors of `onSubmit` above the buttons. */
export function Dialog({ title, submitLabel, danger = false, onClose, onSubmit, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await onSubmit()
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure)))
    } finally {
      setBusy(false)
    }
  }
  return (
    <dialog ref={element} class="dialog" onClose={onClose} aria-label={title}>
      <form onSubmit={submit}>
        <h2>{title}</h2>
        {children}
        {error ? (
          <div class="notice bad" role="alert">
            {error.message}
            {error.fields.length > 0 ? (
              <ul>
                {error.fields.map((field) => (
                  <li key={field.pointer}>
                    {field.pointer}: {field.detail}
                  </li>
                ))}
              </ul>
            ) : null}
          </div>
        ) : null}
        <footer>
          <button type="button" class="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class={`button ${danger ? 'danger' : 'primary'}`} disabled={busy}>
            {busy ? 'Please wait …' : submitLabel}
          </button>
        </footer>
      </form>
    </dialog>
  )
}
