const graces = [
  { minutes: 0, label: 'At once' },
  { minutes: 60, label: 'After 1 hour' },
  { minutes: 1_440, label: 'After 1 day' },
  { minutes: 10_080, label: 'After 7 days' },
]

/** How long the old key or secret continues to work after a rotation, as the field `grace`. `minutes`: the proposal. */
export const GraceField = ({ label, minutes: proposed }: { label: string; minutes: number }) => (
  <label class="field">
    <span>{label}</span>
    <select class="input" name="grace">
      {graces.map(({ minutes, label }) => (
        <option key={minutes} value={minutes} selected={minutes === proposed}>
          {label}
        </option>
      ))}
    </select>
  </label>
)
