/** Shows an error message; nothing when there is none. */
export const FailureNotice = ({ reason }: { reason: string | undefined }) =>
  reason ? (
    <div class="notice bad" role="alert">
      {reason}
    </div>
  ) : null
