/** Says why what was asked for did not happen; nothing without a reason. */
export const FailureNotice = ({ reason }: { reason: string | undefined }) =>
  reason ? (
    <div class="notice bad" role="alert">
      {reason}
    </div>
  ) : null
