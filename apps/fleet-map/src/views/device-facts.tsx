import { call } from '../api/client.ts'
import type { Dwell, Job, Page } from '../api/types.ts'
import { ago, duration, measured, moment } from '../components/format.ts'
import { jobLook, kindLabel } from '../components/labels.tsx'
import { useResource } from '../components/resource.ts'
import { numberOf, type TimeRange, textOf } from '../state/history.ts'
import { linkTo } from '../state/url.ts'
import { pastQuery } from './fleet-data.ts'

type DwellsProps = { deviceId: string; sinceMinutes: number; range?: TimeRange | null }

/** Lists where the device stood still, newest first. */
export function Dwells({ deviceId, sinceMinutes, range = null }: DwellsProps) {
  const window = range ? pastQuery({ range }) : { sinceMinutes }
  const dwells = useResource(`dwells ${deviceId} ${JSON.stringify(window)}`, (signal) =>
    call<Page<Dwell>>('/fleet/dwells', { signal, query: { deviceId, ...window, limit: 10 } }),
  )
  if (dwells.error) return null
  const items = dwells.value?.items ?? []
  if (items.length === 0) return null
  return (
    <section>
      <h2>Dwells</h2>
      <ul style={{ display: 'grid', gap: 'var(--space-2)' }}>
        {items.map((dwell) => (
          <li key={dwell.id}>
            <strong>{duration(dwell.durationS)}</strong>
            <span class="label">
              {dwell.places?.map(({ id, name }, index) => (
                <span key={id}>
                  {index === 0 ? ' in ' : ', '}
                  <a href={linkTo('alerts', { tab: 'places', place: id })}>{name}</a>
                </span>
              ))}{' '}
              from {moment(dwell.arrivedAt)}
              {dwell.departedAt === null ? ', ongoing' : ''}
              {dwell.noServiceS ? `, ${duration(dwell.noServiceS)} without service` : ''}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The last reported connection and system values. */
export function Health({
  system,
  connection,
}: {
  system: Record<string, unknown> | null
  connection: Record<string, unknown> | null
}) {
  if (!system && !connection) return null
  const uptimeS = numberOf(system?.uptimeS)
  return (
    <section>
      <h2>Health</h2>
      <dl class="facts">
        <div>
          <dt>Connection</dt>
          <dd class="capitalized">{textOf(connection?.state) ?? '–'}</dd>
        </div>
        <div>
          <dt>Uptime</dt>
          <dd>{uptimeS === null ? '–' : duration(uptimeS)}</dd>
        </div>
        <div>
          <dt>CPU / memory</dt>
          <dd>
            {measured(numberOf(system?.cpuPct), '%')} / {measured(numberOf(system?.memUsedPct), '%')}
          </dd>
        </div>
        <div>
          <dt>Temperature</dt>
          <dd>{measured(numberOf(system?.temperatureC), '°C')}</dd>
        </div>
        <div>
          <dt>Supply voltage</dt>
          <dd>{measured(numberOf(system?.inputVoltageV), 'V', 1)}</dd>
        </div>
        <div>
          <dt>Firmware</dt>
          <dd>{textOf(system?.firmware) ?? '–'}</dd>
        </div>
      </dl>
      {textOf(system?.fault) ? <div class="notice bad">Fault: {textOf(system?.fault)}</div> : null}
    </section>
  )
}

/** The device's newest jobs, updated every 5 seconds. */
export function DeviceJobs({ deviceId }: { deviceId: string }) {
  const jobs = useResource(
    `jobs ${deviceId}`,
    (signal) => call<Page<Job>>(`/devices/${deviceId}/jobs`, { signal, query: { limit: 5 } }),
    { everyMs: 5_000 },
  )
  const items = jobs.value?.items ?? []
  if (items.length === 0) return null
  return (
    <section>
      <h2>Jobs</h2>
      <ul style={{ display: 'grid', gap: 'var(--space-2)' }}>
        {items.map((job) => (
          <li key={job.id} style={{ display: 'flex', gap: 'var(--space-2)', alignItems: 'center' }}>
            <span class="swatch" style={{ background: jobLook[job.status].color }} />
            <span style={{ marginRight: 'auto' }}>
              {kindLabel[job.kind] ?? job.kind}: {jobLook[job.status].label}
              {job.progress !== null && job.finishedAt === null ? ` (${job.progress} %)` : ''}
            </span>
            <span class="label">{ago(job.createdAt)}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}
