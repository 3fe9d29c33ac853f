import { nearText } from '#client/near'
import type { Alert } from '../../api/schemas.ts'
import { numberOf, textOf } from '../../state/history-row.ts'
import { linkTo } from '../../state/url.ts'
import { openedText, type Severity } from './alert-words.ts'

const severityLook: Record<Severity, { label: string; color: string; mark: string }> = {
  critical: { label: 'Critical', color: 'var(--bad)', mark: '▲' },
  warning: { label: 'Warning', color: 'var(--warn)', mark: '◆' },
  info: { label: 'Info', color: 'var(--accent)', mark: '●' },
}

export const severityLabel = (severity: Severity): string => severityLook[severity].label

/** A severity as a shape, a colour and a word. */
export const SeverityLabel = ({ severity }: { severity: Severity }) => (
  <span class="status">
    <span aria-hidden="true" style={{ color: severityLook[severity].color }}>
      {severityLook[severity].mark}
    </span>
    {severityLook[severity].label}
  </span>
)

/** What was measured when the alert opened, with the way to the job, profile or place that it is about, and the nearest town. */
export function Measured({ alert }: { alert: Alert }) {
  const { lat, lon } = alert.measured
  const [north, east] = [numberOf(lat), numberOf(lon)]
  const at = north === null || east === null ? undefined : `${north.toFixed(5)}, ${east.toFixed(5)}`
  const href = linkOf(alert)
  const text = openedText(alert)
  return (
    <span title={at}>
      {href ? <a href={href}>{text}</a> : text}
      {alert.near ? `, ${nearText(alert.near)}` : ''}
    </span>
  )
}

/** The job, the profile or the place that an alert is about. */
function linkOf({ measured: { jobId, profileId, placeId } }: Alert): string | undefined {
  const [job, profile, place] = [textOf(jobId), textOf(profileId), textOf(placeId)]
  if (job !== null) return linkTo('jobs', { job })
  if (profile !== null) return linkTo('profiles', { profile })
  return place === null ? undefined : linkTo('alerts', { tab: 'places', place })
}
