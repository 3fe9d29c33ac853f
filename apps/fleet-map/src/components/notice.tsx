/** Shows an error message; nothing when there is none. */
export const FailureNotice = ({ reason, id }: { reason: string | undefined; id?: string }) =>
  reason ? (
    <div id={id} class="notice bad" role="alert">
      {reason}
    </div>
  ) : null
