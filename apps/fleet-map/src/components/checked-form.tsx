import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/client.ts'
import { memberText } from '../api/problem-text.ts'
import { checkFields, clearFields, faultsOf, showAtFields } from './field-errors.ts'

/** `unplaced`: what is wrong with no field of the form. */
type RefusalProps = { error: ApiError; unplaced: ApiError['fields'] }

/**
 * Submits a form: says at its fields what is wrong, as the page sees it or as the service answers, and everything else in
 * `refusal`. `onSubmit` receives the named fields and throws ApiError to refuse.
 */
export function useChecked(onSubmit: ((fields: FormData) => unknown) | undefined) {
  const form = useRef<HTMLFormElement>(null)
  const [refusal, setRefusal] = useState<RefusalProps>()
  const [busy, setBusy] = useState(false)
  const refuse = (failure: unknown) => {
    const error = failure instanceof ApiError ? failure : new ApiError(0, 'error', messageOf(failure))
    const faults = faultsOf(error)
    setRefusal({ error, unplaced: form.current ? showAtFields(form.current, faults) : faults })
  }
  const submit = async () => {
    const { current } = form
    if (!current || busy) return
    setRefusal(undefined)
    if (!checkFields(current)) return
    setBusy(true)
    try {
      await onSubmit?.(new FormData(current))
    } catch (failure) {
      refuse(failure)
    } finally {
      setBusy(false)
    }
  }
  const clear = () => {
    setRefusal(undefined)
    if (form.current) clearFields(form.current)
  }
  return { form, busy, refusal: refusal ? <Refusal {...refusal} /> : null, submit, refuse, clear }
}

const messageOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure))

type CheckedFormProps = {
  /** What `useChecked` returned. */
  checked: ReturnType<typeof useChecked>
  class?: string | undefined
  label?: string
  onInput?: () => void
  children: ComponentChildren
}

/** A form outside of dialogs that `useChecked` submits. Its children show `checked.refusal`. */
export const CheckedForm = ({ checked, class: className, label, onInput, children }: CheckedFormProps) => (
  <form
    ref={checked.form}
    class={className}
    aria-label={label}
    noValidate
    onInput={onInput}
    onSubmit={(event) => {
      event.preventDefault()
      void checked.submit()
    }}
  >
    {children}
  </form>
)

/** Why the form was refused, unless its fields say it. */
function Refusal({ error, unplaced }: RefusalProps) {
  const isAtFields = unplaced.length === 0 && faultsOf(error).length > 0
  return (
    <div class="notice bad" role="alert">
      {isAtFields
        ? 'Nothing was saved. Correct the marked fields.'
        : unplaced.length > 1
          ? 'Nothing was saved.'
          : error.message}
      {unplaced.length > 1 ? (
        <ul>
          {unplaced.map(({ pointer, detail }) => (
            <li key={pointer}>
              {memberText(pointer)}: {detail}
            </li>
          ))}
        </ul>
      ) : null}
    </div>
  )
}
