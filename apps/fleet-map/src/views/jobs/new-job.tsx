import { useState } from 'preact/hooks'
import { ApiError, all, post } from '../../api/client.ts'
import type { ConfigProfile, FirmwareImage } from '../../api/schemas.ts'
import { plural } from '../../components/format.ts'
import { kindLabel } from '../../components/labels.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { useResource } from '../../components/resource.ts'
import { goTo, linkTo, place, setParams } from '../../state/url.ts'
import css from './jobs.module.css'
import { allAtOnce, type Pace, RolloutFields, rolloutOf } from './rollout-fields.tsx'
import { atOnce, ScheduleFields, scheduleOf, type Timing } from './schedule-fields.tsx'
import { type Target, TargetFields, useTarget } from './target-fields.tsx'

const kinds = ['reboot', 'apply_config', 'firmware_update', 'collect_diagnostics', 'speed_test'] as const

type Kind = (typeof kinds)[number]

const kindText: Record<Kind, string> = {
  reboot: 'Restarts the routers.',
  apply_config: 'Applies the current version of a config profile.',
  firmware_update: 'Routers download an image, verify its checksum and install it.',
  collect_diagnostics: 'Routers report a diagnostics file as the result of the job.',
  speed_test: 'Routers measure the data rate of their mobile connection.',
}

/** Creates a job of any kind for a group or for devices. The address can choose kind, target, profile and image. */
export function NewJob({ org }: { org: string }) {
  const { new: asked = '', profile, image } = place.value.params
  const kind = kinds.find((one) => one === asked) ?? 'reboot'
  const target = useTarget(org)
  const profiles = useResource(`profiles ${org}`, () => all(`/orgs/${org}/configs`))
  const images = useResource(`firmware ${org}`, () => all(`/orgs/${org}/firmware`))
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
    const options = { ...target.body, ...scheduleOf(timing), ...rolloutOf(pace, total) }
    try {
      const id = await createJob(org, kind, { profileId: chosenProfile?.id, imageId: chosenImage?.id }, options)
      goTo('jobs', { batch: id })
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure)))
      setBusy(false)
    }
  }
  return (
    <form class={css.jobForm} onSubmit={submit} aria-label="New job">
      <div class="page-head">
        <h1>
          <a href={linkTo('jobs')}>Jobs</a> / New job
        </h1>
      </div>
      <section class="card panel" aria-label="Job">
        <KindField kind={kind} />
        <p class="label">{kindText[kind]}</p>
        {kind === 'apply_config' && chosenProfile ? (
          <ContentField
            label="Profile"
            name="profile"
            chosen={chosenProfile.id}
            options={(profiles.value ?? []).map(profileOption)}
          />
        ) : null}
        {kind === 'firmware_update' && chosenImage ? (
          <ContentField
            label="Firmware"
            name="image"
            chosen={chosenImage.id}
            options={(images.value ?? []).map(imageOption)}
          />
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
      <Footer label={`${kindLabel[kind]}: ${plural(total, 'device')}`} canCreate={!busy && total > 0 && lacks === ''} />
    </form>
  )
}

const Footer = ({ label, canCreate }: { label: string; canCreate: boolean }) => (
  <footer>
    <a class="button" href={linkTo('jobs')}>
      Cancel
    </a>
    <button type="submit" class="button primary" disabled={!canCreate}>
      {label}
    </button>
  </footer>
)

const KindField = ({ kind }: { kind: Kind }) => (
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
)

type ContentFieldProps = {
  label: string
  /** The parameter of the address. */
  name: string
  chosen: string
  options: { id: string; text: string }[]
}

/** Chooses what the jobs carry: a profile or an image. */
const ContentField = ({ label, name, chosen, options }: ContentFieldProps) => (
  <label class="field">
    <span>{label}</span>
    <select class="input" value={chosen} onChange={(event) => setParams({ [name]: event.currentTarget.value })}>
      {options.map(({ id, text }) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

const profileOption = ({ id, name, version, model }: ConfigProfile) => ({
  id,
  text: `${name}, version ${version}${model ? ` (${model})` : ''}`,
})

const imageOption = ({ id, version, models }: FirmwareImage) => ({
  id,
  text: `${version} (${models.join(', ') || 'any model'})`,
})

type Content = { profileId: string | undefined; imageId: string | undefined }
type JobOptions = Target['body'] & ReturnType<typeof scheduleOf> & ReturnType<typeof rolloutOf>

/** Creates a batch and returns its id. */
async function createJob(org: string, kind: Kind, content: Content, options: JobOptions): Promise<string> {
  if (kind === 'apply_config')
    return (await post(`/orgs/${org}/configs/${content.profileId ?? ''}/apply`, { body: options })).id
  const job = kind === 'firmware_update' ? { kind, firmwareImageId: content.imageId ?? '' } : { kind }
  return (await post(`/orgs/${org}/job-batches`, { body: { ...job, ...options } })).id
}

/** The view in which an operator adds what a new job lacks. */
const remedyOf = (kind: string, lacks: string): [string, Record<string, string>] =>
  lacks.includes('group') ? ['groups', {}] : kind === 'apply_config' ? ['profiles', {}] : ['jobs', { show: 'firmware' }]
