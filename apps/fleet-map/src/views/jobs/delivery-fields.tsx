import type { JobDelivery } from '../../api/schemas.ts'
import { qualityLabel } from '../../components/label-text.ts'

type When = JobDelivery['when']
type MinQuality = JobDelivery['minQuality']

/** What a batch waits for, as the form shows it. `latestAt` is local time; '' waits until the jobs expire. */
export type GoodMoment = { when: When | ''; minQuality: MinQuality; latestAt: string; delivers: boolean }

export const anyMoment: GoodMoment = { when: '', minQuality: 'good', latestAt: '', delivers: true }

const whenLabel: Record<When, string> = {
  goodSignal: 'Good signal',
  dwell: 'A stop',
  goodSignalAndDwell: 'Good signal at a stop',
}

const minQualities: readonly MinQuality[] = ['poor', 'fair', 'good', 'excellent']

/** The `delivery` of a request; nothing for jobs that do not wait. */
export function deliveryOf({ when, minQuality, latestAt, delivers }: GoodMoment) {
  if (when === '') return {}
  const atLatest = delivers ? 'deliver' : 'expire'
  const end = latestAt ? ({ latestAt: new Date(latestAt).toISOString(), atLatest } as const) : {}
  return { delivery: { when, minQuality, ...end } }
}

type DeliveryFieldsProps = { moment: GoodMoment; onChange: (moment: GoodMoment) => void }

/** Chooses the moment at which each router may take its job. */
export function DeliveryFields({ moment, onChange }: DeliveryFieldsProps) {
  const change = (part: Partial<GoodMoment>) => onChange({ ...moment, ...part })
  const { when, minQuality, latestAt, delivers } = moment
  return (
    <section class="card panel" aria-label="Good moment">
      <h2>Good moment</h2>
      <label class="field">
        <span>Wait for</span>
        <select
          class="input"
          value={when}
          onChange={(event) => change({ when: event.currentTarget.value as GoodMoment['when'] })}
        >
          <option value="">Nothing</option>
          {Object.entries(whenLabel).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {when !== '' && when !== 'dwell' ? (
        <label class="field">
          <span>Signal at least</span>
          <select
            class="input"
            value={minQuality}
            onChange={(event) => change({ minQuality: event.currentTarget.value as MinQuality })}
          >
            {minQualities.map((quality) => (
              <option key={quality} value={quality}>
                {qualityLabel[quality]}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      {when !== '' ? (
        <>
          <label class="field">
            <span>At the latest by (leave empty to wait until the job expires)</span>
            <input
              class="input"
              type="datetime-local"
              data-member="latestAt"
              value={latestAt}
              onInput={(event) => change({ latestAt: event.currentTarget.value })}
            />
          </label>
          {latestAt ? (
            <label class="field">
              <span>Then</span>
              <select
                class="input"
                value={delivers ? 'deliver' : 'expire'}
                onChange={(event) => change({ delivers: event.currentTarget.value === 'deliver' })}
              >
                <option value="deliver">Deliver at any moment</option>
                <option value="expire">Let the job expire</option>
              </select>
            </label>
          ) : null}
          <p class="label">Each router takes its job when its reports show such a moment. Other jobs of it go first.</p>
        </>
      ) : null}
    </section>
  )
}
