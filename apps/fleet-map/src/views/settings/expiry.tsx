import { ago, moment } from '../../components/format.ts'

const choices = [
  { days: '', label: 'Never' },
  { days: '1', label: 'In 1 day' },
  { days: '30', label: 'In 30 days' },
  { days: '90', label: 'In 90 days' },
  { days: '365', label: 'In 1 year' },
]

/** Asks when a key expires, as the field `days`. */
export const ExpiryField = () => (
  <label class="field">
    <span>Expires</span>
    <select class="input" name="days" data-member="expiresAt">
      {choices.map(({ days, label }) => (
        <option key={days} value={days}>
          {label}
        </option>
      ))}
    </select>
  </label>
)

/** The time that `days` of the field stands for; undefined for never. */
export const expiresAtOf = (days: string): string | undefined =>
  days === '' ? undefined : new Date(Date.now() + Number(days) * 86_400_000).toISOString()

export function expiryText(expiresAt: string | null) {
  if (expiresAt === null) return 'never'
  const isPast = Date.parse(expiresAt) <= Date.now()
  return (
    <span title={moment(expiresAt)} style={isPast ? { color: 'var(--warn)' } : {}}>
      {isPast ? 'Expired' : ago(expiresAt)}
    </span>
  )
}
