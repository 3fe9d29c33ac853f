/** Whether a webhook receives events, as a shape, a colour and a word. */
export const WebhookState = ({ disabled }: { disabled: boolean }) => (
  <span class="status">
    <span aria-hidden="true" style={{ color: disabled ? 'var(--warn)' : 'var(--ok)' }}>
      {disabled ? '■' : '●'}
    </span>
    {disabled ? 'Disabled' : 'Active'}
  </span>
)
