import type { JobBatch } from '../../api/schemas.ts'
import { count, plural } from '../../components/format.ts'
import { deliveryText } from '../../components/held-text.ts'
import { linkTo } from '../../state/url.ts'
import { useFilterTexts } from '../devices/filter-choices.ts'
import { authorOf, contentOf, matchingText, rolloutWords, scheduleWords, skipReason } from './batch-words.ts'
import css from './jobs.module.css'

const mostListed = 100

type BatchFactsProps = { org: string; batch: JobBatch; nameOf: (deviceId: string) => string }

/** What a batch was: content, target, time, pace, author and the devices that it skipped. */
export function BatchFacts({ org, batch, nameOf }: BatchFactsProps) {
  const { profile, parameters, target, targetName, skipped } = batch
  const content = contentOf(batch)
  const textOf = useFilterTexts(org, 'filter' in target ? [target.filter] : [])
  return (
    <dl class={`card ${css.jobFacts}`}>
      {content ? (
        <>
          <dt>{profile ? 'Profile' : 'Content'}</dt>
          <dd>
            {profile ? (
              <a href={linkTo('profiles', { profile: profile.id, version: String(profile.version) })}>{content}</a>
            ) : (
              content
            )}
            {typeof parameters.url === 'string' ? <div class="hint">{parameters.url}</div> : null}
          </dd>
        </>
      ) : null}
      <dt>Target</dt>
      <dd>
        {'groupId' in target ? (
          <a href={linkTo('groups', { group: target.groupId })}>Group {targetName ?? target.groupId}</a>
        ) : 'filter' in target ? (
          matchingText(textOf(target.filter))
        ) : target.deviceIds.length === 1 ? (
          nameOf(target.deviceIds[0] ?? '')
        ) : (
          `${count(target.deviceIds.length)} devices`
        )}
      </dd>
      <dt>Time</dt>
      <dd>{scheduleWords(batch.schedule)}</dd>
      {batch.delivery ? (
        <>
          <dt>Good moment</dt>
          <dd>{deliveryText(batch.delivery)}</dd>
        </>
      ) : null}
      <dt>Rollout</dt>
      <dd>{rolloutWords(batch.rollout).join(' · ') || 'In stages'}</dd>
      <dt>Author</dt>
      <dd>{authorOf(batch)}</dd>
      {skipped.length > 0 ? (
        <>
          <dt>Skipped</dt>
          <dd>
            <details>
              <summary>{plural(skipped.length, 'device')} skipped</summary>
              <ul class={css.skipped} aria-label="Skipped devices">
                {skipped.slice(0, mostListed).map(({ deviceId, reason, variables }) => (
                  <li key={deviceId}>
                    <a href={linkTo('map', { device: deviceId })}>{nameOf(deviceId)}</a>:{' '}
                    {skipReason(reason, variables)}
                  </li>
                ))}
              </ul>
              {skipped.length > mostListed ? (
                <p class="label">The first {mostListed} are shown. The API returns all of them.</p>
              ) : null}
            </details>
          </dd>
        </>
      ) : null}
    </dl>
  )
}
