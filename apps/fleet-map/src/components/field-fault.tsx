type FieldFaultProps = { id: string; text: string | undefined }

/** What is wrong with a field while it is filled in. Stands beside the field, which has `faultProps` and is not submitted. */
export const FieldFault = ({ id, text }: FieldFaultProps) =>
  text ? (
    <span id={id} class="field-error" role="alert">
      {text}
    </span>
  ) : null

/** The properties of a field with what `FieldFault` shows about it. */
export const faultProps = ({ id, text }: FieldFaultProps) =>
  text ? ({ 'aria-invalid': true, 'aria-describedby': id } as const) : {}
