import { nearText } from '#client/near'
import { get } from '../../api/client.ts'
import { ago, duration, measured, moment } from '../../components/format.ts'
import { jobLook, kindLabel } from '../../components/label-text.ts'
import { useResource } from '../../components/resource.ts'
import { ShowAll } from '../../components/show-all.tsx'
import { useDwells } from '../../state/device-past.ts'
import type { TimeRange } from '../../state/history.ts'
import { numberOf, textOf } from '../../state/history-row.ts'
import { linkTo } from '../../state/url.ts'

/** A fact of a list with the class `facts`. */
export const Fact = ({ name, children }: { name: string; children: preact.ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

/** Facts of one modem, below its name if it has one. */
export const OfModem = ({ modem, children }: { modem: string | null; children: preact.ComponentChildren }) => (
  <div class="stack">
    {modem === null ? null : <h3>{modem}</h3>}
    <dl class="facts">{children}</dl>
  </div>
)

type DwellsProps = { deviceId: string; sinceMinutes: number; range?: TimeRange | null }

const firstShown = 5

/** Lists where the device stood still, newest first. */
export function Dwells({ deviceId, sinceMinutes, range = null }: DwellsProps) {
  const dwells = useDwells(deviceId, { sinceMinutes, range }, true)
  if (dwells.error) return null
  const { items = [], nextCursor = null } = dwells.value ?? {}
  if (items.length === 0) return null
  return (
    <section>
      <h2>Dwells</h2>
      <ShowAll items={items} first={firstShown} isCut={nextCursor !== null}>
        {(shown) => (
          <ul class="entries">
            {shown.map((dwell) => (
              <li key={dwell.id}>
                <strong>{duration(dwell.durationS)}</strong>
                <span class="label">
                  {dwell.places?.map(({ id, name }, index) => (
                    <span key={id}>
                      {index === 0 ? ' in ' : ', '}
                      <a style={{ textDecoration: 'underline' }} href={linkTo('alerts', { tab: 'places', place: id })}>
                        {name}
                      </a>
                    </span>
                  ))}
                  {!dwell.places && dwell.near ? ` ${nearText(dwell.near)}` : ''} from {moment(dwell.arrivedAt)}
                  {dwell.departedAt === null ? ', ongoing' : ''}
                  {dwell.noServiceS ? `, ${duration(dwell.noServiceS)} without service` : ''}
                </span>
              </li>
            ))}
          </ul>
        )}
      </ShowAll>
    </section>
  )
}

/** The last reported connection and system values. */
export function Health({
  system,
  connection,
  withFirmware = true,
}: {
  system: Record<string, unknown> | null
  connection: Record<string, unknown> | null
  /** Whether to show the firmware, which the page of a device has in its facts. */
  withFirmware?: boolean
}) {
  if (!system && !connection) return null
  const uptimeS = numberOf(system?.uptimeS)
  return (
    <section>
      <h2>Health</h2>
      <dl class="facts">
        <Fact name="Connection">
          <span class="capitalized">{textOf(connection?.state) ?? '–'}</span>
        </Fact>
        <Fact name="Uptime">{uptimeS === null ? '–' : duration(uptimeS)}</Fact>
        <Fact name="CPU / memory">
          {measured(numberOf(system?.cpuPct), '%')} / {measured(numberOf(system?.memUsedPct), '%')}
        </Fact>
        <Fact name="Temperature">{measured(numberOf(system?.temperatureC), '°C')}</Fact>
        <Fact name="Supply voltage">{measured(numberOf(system?.inputVoltageV), 'V', 1)}</Fact>
        {withFirmware ? <Fact name="Firmware">{textOf(system?.firmware) ?? '–'}</Fact> : null}
      </dl>
      {textOf(system?.fault) ? <div class="notice bad">Fault: {textOf(system?.fault)}</div> : null}
    </section>
  )
}

/** The device's newest jobs, updated every 5 seconds. */
export function DeviceJobs({ deviceId }: { deviceId: string }) {
  const jobs = useResource(
    `jobs ${deviceId}`,
    (signal) => get(`/devices/${deviceId}/jobs`, { signal, query: { limit: 5 } }),
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
