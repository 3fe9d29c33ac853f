import type { ApiError } from '../api/client.ts'

type Fault = ApiError['fields'][number]

const mark = 'field-error'
let marks = 0

/**
 * Puts what is wrong with a form at its fields, and the focus into the first of them. A field belongs to a member of the request
 * that has its name, or the name in `data-member`; `data-empty` is what an empty field says. What is wrong goes away when the
 * field changes. Returns the faults that belong to no field.
 */
export function showAtFields(form: HTMLElement, faults: readonly Fault[]): Fault[] {
  clearFields(form)
  const unplaced: Fault[] = []
  let first: HTMLElement | undefined
  for (const fault of faults) {
    const control = controlOf(form, fault.pointer)
    if (!control) {
      unplaced.push(fault)
      continue
    }
    markField(control, fault)
    first ??= control
  }
  focusable(first)?.focus()
  return unplaced
}

/** Takes away what `showAtFields` put at the fields. */
export function clearFields(form: HTMLElement): void {
  for (const control of form.querySelectorAll('[aria-invalid]')) unmarkField(control as HTMLElement)
}

/** The field of a member: `/channels/emails/0` is about `emails`, or else about `channels`. */
function controlOf(form: HTMLElement, pointer: string): HTMLElement | undefined {
  const members = pointer.split('/').filter((part) => part !== '' && !/^\d+$/.test(part))
  for (const member of members.reverse()) {
    const name = CSS.escape(member)
    const found = form.querySelector<HTMLElement>(`[data-member="${name}"], [name="${name}"]`)
    if (found && found.offsetParent !== null) return found
  }
  return undefined
}

function markField(control: HTMLElement, { detail, code }: Fault): void {
  if (control.hasAttribute('aria-invalid')) return
  const message = document.createElement('span')
  marks += 1
  message.id = `${mark}-${marks}`
  message.className = mark
  const isEmpty = code === 'too_small' || code === 'invalid_type'
  message.textContent = (isEmpty ? control.dataset.empty : undefined) ?? detail
  // Last in its field, where the page itself adds nothing.
  const field = control.closest('.field') ?? control.parentElement
  // It describes the field, and is no part of its name.
  if (field?.matches('label')) message.ariaHidden = 'true'
  field?.append(message)
  control.setAttribute('aria-invalid', 'true')
  control.setAttribute('aria-describedby', message.id)
  control.addEventListener('input', () => unmarkField(control), { once: true })
}

function unmarkField(control: HTMLElement): void {
  document.getElementById(control.getAttribute('aria-describedby') ?? '')?.remove()
  control.removeAttribute('aria-invalid')
  control.removeAttribute('aria-describedby')
}

const focusable = (control: HTMLElement | undefined): HTMLElement | null | undefined =>
  control?.matches('fieldset') ? control.querySelector<HTMLElement>('input, select') : control
