import { ApiError } from '../api/client.ts'
import { sentenceText } from '../api/problem-text.ts'
import { type CheckedField, faultOf } from './field-checks.ts'

type Fault = ApiError['fields'][number]

const mark = 'field-error'
let marks = 0

/** The members that conflicts of these codes are about. */
const memberOfCode: Record<string, string> = {
  serial_taken: 'serial',
  group_name_taken: 'name',
  firmware_taken: 'sha256',
}

/** A refusal by the page itself, which the form shows at the field of this member. */
export const faultAt = (member: string, detail: string): ApiError =>
  new ApiError(0, 'invalid', detail, null, [{ pointer: member, code: 'custom', detail }])

/** What an error says about members of the request. */
export function faultsOf({ code, message, fields }: ApiError): Fault[] {
  const member = memberOfCode[code]
  return fields.length === 0 && member ? [{ pointer: member, code, detail: message }] : fields
}

/**
 * Puts what is wrong with a form at its fields, and the focus into the first of them. A field belongs to a member of the request
 * that has its name, or the name or path in `data-member`; `data-empty` is what an empty field says. What is wrong goes away when
 * the field changes. Returns the faults that belong to no field.
 */
export function showAtFields(form: HTMLElement, faults: readonly Fault[]): Fault[] {
  clearFields(form)
  const unplaced = faults.filter((fault) => {
    const control = controlOf(form, fault.pointer)
    if (control) markField(control, sentenceOf(control, fault))
    return !control
  })
  focusFirst(form)
  return unplaced
}

/**
 * Checks the fields of a form as the browser does, and says at each what is wrong. An element with `data-fault` says that.
 * Returns whether all are right.
 */
export function checkFields(form: HTMLFormElement): boolean {
  clearFields(form)
  for (const element of form.querySelectorAll<HTMLElement>('input, select, textarea, [data-fault]')) {
    const isChecked = 'willValidate' in element && element.willValidate === true
    const sentence = element.dataset.fault ?? (isChecked ? faultOf(element as unknown as CheckedField) : undefined)
    if (sentence !== undefined) markField(element, sentence)
  }
  return !focusFirst(form)
}

/** Takes away what was put at the fields. */
export function clearFields(form: HTMLElement): void {
  for (const control of form.querySelectorAll<HTMLElement>('[aria-invalid="true"]'))
    if ((control.getAttribute('aria-describedby') ?? '').split(' ').some(isMark)) clearField(control)
}

/** Takes away what was put at one field. */
export function clearField(control: HTMLElement): void {
  const described = (control.getAttribute('aria-describedby') ?? '').split(' ')
  for (const id of described.filter(isMark)) document.getElementById(id)?.remove()
  control.removeAttribute('aria-invalid')
  const others = described.filter((id) => id !== '' && !isMark(id))
  if (others.length > 0) control.setAttribute('aria-describedby', others.join(' '))
  else control.removeAttribute('aria-describedby')
}

const isMark = (id: string): boolean => id.startsWith(`${mark}-`)

/** The field of a member: `/channels/emails/0` is about that or `emails/0`, or else about `channels/emails` or `emails`, and so on. */
function controlOf(form: HTMLElement, pointer: string): HTMLElement | undefined {
  const parts = pointer.split('/').filter(Boolean)
  for (let length = parts.length; length > 0; length -= 1) {
    for (let first = 0; first < length; first += 1) {
      const found = namedControl(form, parts.slice(first, length).join('/'))
      if (found) return found
    }
  }
  return undefined
}

function namedControl(form: HTMLElement, name: string): HTMLElement | undefined {
  const escaped = CSS.escape(name)
  return [...form.querySelectorAll<HTMLElement>(`[data-member="${escaped}"], [name="${escaped}"]`)].find(
    ({ offsetParent }) => offsetParent !== null,
  )
}

function sentenceOf(control: HTMLElement, { code, detail }: Fault): string {
  const isEmpty = code === 'too_small' || code === 'invalid_type'
  return (isEmpty ? control.dataset.empty : undefined) ?? sentenceText(detail)
}

function markField(control: HTMLElement, sentence: string): void {
  if (control.getAttribute('aria-invalid') === 'true') return
  const message = document.createElement('span')
  marks += 1
  message.id = `${mark}-${marks}`
  message.className = mark
  message.textContent = sentence
  // Last in its field, where the page itself adds nothing.
  const field = control.matches('fieldset') ? control : (control.closest('.field') ?? control.parentElement)
  // It describes the field, and is no part of its name.
  if (field?.matches('label')) message.ariaHidden = 'true'
  field?.append(message)
  control.setAttribute('aria-invalid', 'true')
  const described = control.getAttribute('aria-describedby')
  control.setAttribute('aria-describedby', described ? `${described} ${message.id}` : message.id)
  control.addEventListener('input', () => clearField(control), { once: true })
}

/** Focuses the first field that has an error. Returns whether there is one. */
function focusFirst(form: HTMLElement): boolean {
  const first = form.querySelector<HTMLElement>('[aria-invalid="true"]')
  const target = first?.matches('fieldset') ? first.querySelector<HTMLElement>('input, select') : first
  target?.focus()
  return first !== null
}
