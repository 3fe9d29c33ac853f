import { useEffect, useRef } from 'preact/hooks'
import { CopyText } from '../../components/copy-text.tsx'

type RevealedSecretProps = { title: string; label: string; secret: string; about: string; onClose: () => void }

/** Shows a secret that the service returns only once. Closes only with its button, so that Escape does not lose it. */
export function RevealedSecret({ title, label, secret, about, onClose }: RevealedSecretProps) {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-label={title}
      // A browser lets a page refuse only the first of two.
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault()
      }}
      onCancel={(event) => event.preventDefault()}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault()
          onClose()
        }}
      >
        <h2>{title}</h2>
        <p>{about} It is shown only now.</p>
        <CopyText label={label} text={secret} />
        <footer>
          <button type="submit" class="button primary">
            I have stored it
          </button>
        </footer>
      </form>
    </dialog>
  )
}
