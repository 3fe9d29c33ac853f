import { useState } from 'preact/hooks'
import { ApiError, all, call } from '../../api/client.ts'
import type { Batch, FirmwareImage, Profile } from '../../api/types.ts'
import { plural } from '../../components/format.ts'
import { kindLabel } from '../../components/labels.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { useResource } from '../../components/resource.ts'
import { goTo, linkTo, place, setParams } from '../../state/url.ts'
import { allAtOnce, type Pace, RolloutFields, rolloutOf } from './rollout-fields.tsx'
import { atOnce, ScheduleFields, scheduleOf, type Timing } from './schedule-fields.tsx'
import { TargetFields, useTarget } from './target-fields.tsx'

const kinds = ['reboot', 'apply_config', 'firmware_update', 'collect_diagnostics', 'speed_test']

const kindText: Record<string, string> = {
  reboot: 'Restarts the routers.',
  apply_config: 'Applies the current version of a config profile.',
  firmware_update: 'Routers download an image, verify its checksum and install it.',
  collect_diagnostics: 'Routers report a diagnostics file as the result of the job.',
  speed_test: 'Routers measure the data rate of their mobile connection.',
}

/** Creates a job of any kind for a group or for devices. The address can choose kind, target, profile and image. */
export function NewJob({ org }: { org: string }) {
  const { new: asked = '', profile, image } = place.value.params
  const kind = kinds.includes(asked) ? asked : 'reboot'
  const target = useTarget(org)
  const profiles = useResource(`profiles ${org}`, () => all<Profile>(`/orgs/${org}/configs`))
  const images = useResource(`firmware ${org}`, () => all<FirmwareImage>(`/orgs/${org}/firmware`))
  const [timing, setTiming] = useState<Timing>(atOnce)
  const [pace, setPace] = useState<Pace>(allAtOnce)
  const [error, setError] = useState<ApiError>()
  const [busy, setBusy] = useState(false)

  const chosenProfile = profiles.value?.find(({ id }) => id === profile) ?? profiles.value?.[0]
  const chosenImage = images.value?.find(({ id }) => id === image) ?? images.value?.[0]
  const { total } = target
  const lacks =
    (kind === 'apply_config' && profiles.value && !chosenProfile && 'There is no config profile yet.') ||
    (kind === 'firmware_update' && images.value && !chosenImage && 'The catalogue has no firmware yet.') ||
    (target.kind === 'group' && target.groups && !target.group && 'There is no group yet.') ||
    ''

  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const options = {
        ...target.body,
        ...scheduleOf(timing),
        ...rolloutOf(pace, total),
      }
      const batch =
        kind === 'apply_config'
          ? await call<Batch>(`/orgs/${org}/configs/${chosenProfile?.id}/apply`, { method: 'POST', body: options })
          : await call<Batch>(`/orgs/${org}/job-batches`, {
              method: 'POST',
              body: { kind, ...(kind === 'firmware_update' ? { firmwareImageId: chosenImage?.id } : {}), ...options },
            })
      goTo('jobs', { batch: batch.id })
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure)))
      setBusy(false)
    }
  }
  return (
    <form class="job-form" onSubmit={submit} aria-label="New job">
      <div class="page-head">
        <h1>
          <a href={linkTo('jobs')}>Jobs</a> / New job
        </h1>
      </div>
      <section class="card panel" aria-label="Job">
        <label class="field">
          <span>Kind</span>
          <select class="input" value={kind} onChange={(event) => setParams({ new: event.currentTarget.value })}>
            {kinds.map((one) => (
              <option key={one} value={one}>
                {kindLabel[one]}
              </option>
            ))}
          </select>
        </label>
        <p class="label">{kindText[kind]}</p>
        {kind === 'apply_config' && chosenProfile ? (
          <label class="field">
            <span>Profile</span>
            <select
              class="input"
              value={chosenProfile.id}
              onChange={(event) => setParams({ profile: event.currentTarget.value })}
            >
              {(profiles.value ?? []).map(({ id, name, version, model }) => (
                <option key={id} value={id}>
                  {name}, version {version}
                  {model ? ` (${model})` : ''}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        {kind === 'firmware_update' && chosenImage ? (
          <label class="field">
            <span>Firmware</span>
            <select
              class="input"
              value={chosenImage.id}
              onChange={(event) => setParams({ image: event.currentTarget.value })}
            >
              {(images.value ?? []).map(({ id, version, models }) => (
                <option key={id} value={id}>
                  {version} ({models.join(', ') || 'any model'})
                </option>
              ))}
            </select>
          </label>
        ) : null}
        {lacks ? (
          <p class="notice">
            {lacks} <a href={linkTo(...remedyOf(kind, lacks))}>Add one</a>
          </p>
        ) : null}
      </section>
      <TargetFields org={org} target={target} />
      <ScheduleFields timing={timing} onChange={setTiming} />
      <RolloutFields pace={pace} total={total} onChange={setPace} />
      <FailureNotice
        reason={error ? [error.message, ...error.fields.map(({ detail }) => detail)].join(' ') : undefined}
      />
      <footer>
        <a class="button" href={linkTo('jobs')}>
          Cancel
        </a>
        <button type="submit" class="button primary" disabled={busy || total === 0 || lacks !== ''}>
          {kindLabel[kind]}: {plural(total, 'device')}
        </button>
      </footer>
    </form>
  )
}

/** The view in which an operator adds what a new job lacks. */
const remedyOf = (kind: string, lacks: string): [string, Record<string, string>] =>
  lacks.includes('group') ? ['groups', {}] : kind === 'apply_config' ? ['profiles', {}] : ['jobs', { show: 'firmware' }]
