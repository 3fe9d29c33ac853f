/** The values of a form's named fields, trimmed. */
export const fieldsOf = (container: HTMLElement | null): Record<string, string> =>
  Object.fromEntries(
    [...(container?.querySelectorAll<HTMLInputElement | HTMLSelectElement>('input[name], select[name]') ?? [])]
      .filter((field) => field.type !== 'checkbox')
      .map(({ name, value }) => [name, value.trim()]),
  )

/** The values of the ticked checkboxes with this name. */
export const tickedOf = (container: HTMLElement | null, name: string): string[] =>
  [...(container?.querySelectorAll<HTMLInputElement>(`input[name="${name}"]:checked`) ?? [])].map(({ value }) => value)
