import { useEffect, useState } from 'preact/hooks'
import { ApiError, all, dryRun, post } from '../../api/client.ts'
import type { ConfigApplicationPlan, ConfigProfile, FirmwareImage, JobBatchPlan } from '../../api/schemas.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { faultAt } from '../../components/field-errors.ts'
import { plural } from '../../components/format.ts'
import { kindLabel } from '../../components/label-text.ts'
import { useResource } from '../../components/resource.ts'
import { useUnsaved } from '../../components/unsaved.tsx'
import { holds } from '../../state/session.ts'
import { goTo, linkTo, place, setParams } from '../../state/url.ts'
import { anyMoment, DeliveryFields, deliveryOf, type GoodMoment } from './delivery-fields.tsx'
import css from './jobs.module.css'
import { PlannedBatch } from './planned-batch.tsx'
import { allAtOnce, type Pace, RolloutFields, rolloutOf } from './rollout-fields.tsx'
import { atOnce, ScheduleFields, scheduleOf, type Timing } from './schedule-fields.tsx'
import { type Target, TargetFields, useTarget } from './target-fields.tsx'

const kinds = ['reboot', 'apply_config', 'firmware_update', 'collect_diagnostics', 'speed_test'] as const

type Kind = (typeof kinds)[number]

/** The sentence with which the reader confirms: "Reboot 42 devices?" */
const askText: Record<Kind, (devices: string, content: string) => string> = {
  reboot: (devices) => `Reboot ${devices}?`,
  apply_config: (devices, profile) => `Apply ${profile} to ${devices}?`,
  firmware_update: (devices, version) => `Install ${version} on ${devices}?`,
  collect_diagnostics: (devices) => `Collect diagnostics of ${devices}?`,
  speed_test: (devices) => `Measure the data rate of ${devices}?`,
}

const kindText: Record<Kind, string> = {
  reboot: 'Restarts the routers.',
  apply_config: 'Applies the current version of a config profile.',
  firmware_update: 'Routers download an image, verify its checksum and install it.',
  collect_diagnostics: 'Routers report a diagnostics file as the result of the job.',
  speed_test: 'Routers measure the data rate of their mobile connection.',
}

/**
 * Creates a job of any kind for a group or for devices. The address can choose kind, target, profile and image; nothing else is
 * chosen at first, and the reader confirms with the number of devices.
 */
export function NewJob({ org }: { org: string }) {
  const { new: asked = '', profile, image } = place.value.params
  const kind = kinds.find((one) => one === asked)
  const target = useTarget(org)
  const profiles = useProfiles(org)
  const images = useResource(`firmware ${org}`, () => all(`/orgs/${org}/firmware`))
  const [timing, setTiming] = useState<Timing>(atOnce)
  const [moment, setMoment] = useState<GoodMoment>(anyMoment)
  const [pace, setPace] = useState<Pace>(allAtOnce)
  const [isAsking, setAsking] = useState(false)

  const chosenProfile = profiles.value?.find(({ id }) => id === profile)
  const chosenImage = images.value?.find(({ id }) => id === image)
  const { total } = target
  const lacks = lacksOf(kind, { profiles: profiles.value, images: images.value }, target)
  const content = kind === 'apply_config' ? chosenProfile : kind === 'firmware_update' ? chosenImage : 'none'
  const checked = useChecked(() => {
    if (lacks) throw faultAt('', lacks)
    if (total === 0) throw faultAt('', 'No device matches the filter.')
    setAsking(true)
  })
  const isReady = kind !== undefined && content !== undefined && total > 0
  const refuse = useRefusal(checked.refuse)
  const unsaved = useUnsaved(({ view, params }) => view !== 'jobs' || !params.new)

  const request = (chosen: Kind): NewBatch => ({
    ...{ org, kind: chosen, profileId: chosenProfile?.id, imageId: chosenImage?.id },
    options: { ...target.body, ...scheduleOf(timing), ...deliveryOf(moment), ...rolloutOf(pace, total) },
  })
  const create = async () => {
    if (!kind) return
    const batch = await createJob(request(kind))
    unsaved.forget()
    goTo('jobs', { batch })
  }
  return (
    <>
      <CheckedForm checked={checked} class={css.jobForm} label="New job" onInput={unsaved.noteChange}>
        <Head />
        <section class="card panel" aria-label="Job">
          <KindField kind={kind} />
          {kind ? <p class="label">{kindText[kind]}</p> : null}
          <ContentFields kind={kind} profiles={profiles.value} images={images.value} profile={profile} image={image} />
          {lacks ? (
            <p class="notice">
              {lacks} <a href={linkTo(...remedyOf(kind, lacks))}>Add one</a>
            </p>
          ) : null}
        </section>
        <TargetFields org={org} target={target} />
        <ScheduleFields timing={timing} onChange={setTiming} />
        <DeliveryFields moment={moment} onChange={setMoment} />
        <RolloutFields pace={pace} total={total} onChange={setPace} />
        {checked.refusal}
        <Footer
          onCancel={unsaved.forget}
          label={`${kind ? kindLabel[kind] : 'Create job'}: ${plural(total, 'device')}`}
        />
      </CheckedForm>
      {unsaved.question}
      {isAsking && isReady ? (
        <Confirmation
          title={askText[kind](plural(total, 'device'), contentText(chosenProfile, chosenImage))}
          submitLabel={kindLabel[kind] ?? ''}
          isLater={timing.startAt !== '' || timing.hasWindow}
          waits={moment.when !== ''}
          request={request(kind)}
          onClose={() => setAsking(false)}
          onRefused={(error) => {
            setAsking(false)
            refuse(error)
          }}
          onConfirm={create}
        />
      ) : null}
    </>
  )
}

const Head = () => (
  <div class="page-head">
    <h1>
      <a href={linkTo('jobs')}>Jobs</a> / New job
    </h1>
  </div>
)

/** The profiles of the organization; none for a reader who may not see them. */
function useProfiles(org: string) {
  const mayRead = holds(org, 'config:read')
  return useResource(`profiles ${org} ${mayRead}`, async () => (mayRead ? all(`/orgs/${org}/configs`) : []))
}

/** What the organization has nothing of; '' if nothing is missing. */
const lacksOf = (
  kind: Kind | undefined,
  { profiles, images }: Pick<ContentFieldsProps, 'profiles' | 'images'>,
  target: Target,
): string =>
  (kind === 'apply_config' && profiles?.length === 0 && 'There is no config profile yet.') ||
  (kind === 'firmware_update' && images?.length === 0 && 'The catalogue has no firmware yet.') ||
  (target.kind === 'group' && target.groups?.length === 0 && 'There is no group yet.') ||
  ''

/** Shows a refusal once the confirmation is closed: the focus cannot go to the fields below it. */
function useRefusal(refuse: (error: ApiError) => void) {
  const [refused, setRefused] = useState<ApiError>()
  useEffect(() => {
    if (refused) refuse(refused)
  }, [refused])
  return setRefused
}

type ContentFieldsProps = {
  kind: Kind | undefined
  profiles: readonly ConfigProfile[] | undefined
  images: readonly FirmwareImage[] | undefined
  profile: string | undefined
  image: string | undefined
}

/** Chooses the profile or the image of a job that carries one. */
function ContentFields({ kind, profiles, images, profile, image }: ContentFieldsProps) {
  if (kind === 'apply_config' && profiles?.length)
    return (
      <ContentField
        key="profile"
        label="Profile"
        name="profile"
        member="profileId"
        empty="Choose a profile."
        chosen={profile}
        options={profiles.map(profileOption)}
      />
    )
  if (kind === 'firmware_update' && images?.length)
    return (
      <ContentField
        key="image"
        label="Firmware"
        name="image"
        member="firmwareImageId"
        empty="Choose a firmware image."
        chosen={image}
        options={images.map(imageOption)}
      />
    )
  return null
}

type ConfirmationProps = {
  title: string
  submitLabel: string
  /** The jobs do not start at once. */
  isLater: boolean
  /** Each job waits for a good moment of its router. */
  waits: boolean
  request: NewBatch
  onClose: () => void
  /** The service refuses members of the request. */
  onRefused: (error: ApiError) => void
  onConfirm: () => Promise<void>
}

/** Asks before the batch is created, with what a dry run says about it. */
function Confirmation({
  title,
  submitLabel,
  isLater,
  waits,
  request,
  onClose,
  onRefused,
  onConfirm,
}: ConfirmationProps) {
  const plan = useResource(JSON.stringify(request), (signal) => planJob(request, signal))
  const { error } = plan
  useEffect(() => {
    if (error && error.fields.length > 0) onRefused(error)
  }, [error])
  const confirm = async () => {
    try {
      await onConfirm()
    } catch (failure) {
      if (!(failure instanceof ApiError && failure.fields.length > 0)) throw failure
      onRefused(failure)
    }
  }
  const begins = isLater ? 'It begins at the chosen time.' : waits ? '' : 'It begins at once.'
  return (
    <Dialog title={title} submitLabel={submitLabel} onClose={onClose} onSubmit={confirm}>
      <PlannedBatch plan={plan} />
      <p>
        {begins} {waits ? 'Each router takes its job at a good moment.' : ''} Routers that are offline receive it when
        they connect, until the job expires.
      </p>
    </Dialog>
  )
}

const Footer = ({ label, onCancel }: { label: string; onCancel: () => void }) => (
  <footer>
    <a class="button" href={linkTo('jobs')} onClick={onCancel}>
      Cancel
    </a>
    <button type="submit" class="button primary">
      {label}
    </button>
  </footer>
)

const KindField = ({ kind }: { kind: Kind | undefined }) => (
  <label class="field">
    <span>Kind</span>
    <select
      class="input"
      name="kind"
      required
      data-empty="Choose what the routers do."
      value={kind ?? ''}
      onChange={(event) => setParams({ new: event.currentTarget.value || 'job' })}
    >
      <option value="">Choose a kind</option>
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
  /** The member of the request, and what to say when nothing is chosen. */
  member: string
  empty: string
  chosen: string | undefined
  options: { id: string; text: string }[]
}

/** Chooses what the jobs carry: a profile or an image. */
const ContentField = ({ label, name, member, empty, chosen, options }: ContentFieldProps) => (
  <label class="field">
    <span>{label}</span>
    <select
      class="input"
      data-member={member}
      required
      data-empty={empty}
      value={options.find(({ id }) => id === chosen)?.id ?? ''}
      onChange={(event) => setParams({ [name]: event.currentTarget.value || null })}
    >
      <option value="">Choose one</option>
      {options.map(({ id, text }) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

const contentText = (profile: ConfigProfile | undefined, image: FirmwareImage | undefined): string =>
  profile ? profileText(profile) : (image?.version ?? '')

const profileText = ({ name, version }: ConfigProfile): string => `${name}, version ${version}`

const profileOption = (profile: ConfigProfile) => ({
  id: profile.id,
  text: `${profileText(profile)}${profile.model ? ` (${profile.model})` : ''}`,
})

const imageOption = ({ id, version, models }: FirmwareImage) => ({
  id,
  text: `${version} (${models.join(', ') || 'any model'})`,
})

type JobOptions = Target['body'] &
  ReturnType<typeof scheduleOf> &
  ReturnType<typeof deliveryOf> &
  ReturnType<typeof rolloutOf>

/** A batch to create. `profileId` or `imageId`: what its jobs carry. */
type NewBatch = {
  org: string
  kind: Kind
  profileId: string | undefined
  imageId: string | undefined
  options: JobOptions
}

const jobOf = ({ kind, imageId, options }: NewBatch & { kind: Exclude<Kind, 'apply_config'> }) => ({
  ...(kind === 'firmware_update' ? { kind, firmwareImageId: imageId ?? '' } : { kind }),
  ...options,
})

const isPlain = (batch: NewBatch): batch is NewBatch & { kind: Exclude<Kind, 'apply_config'> } =>
  batch.kind !== 'apply_config'

/** The device of a batch for one device. */
/** Creates a batch and returns its id. */
async function createJob(batch: NewBatch): Promise<string> {
  const { org, profileId = '', options } = batch
  if (isPlain(batch)) return (await post(`/orgs/${org}/job-batches`, { body: jobOf(batch) })).id
  return (await post(`/orgs/${org}/configs/${profileId}/apply`, { body: options })).id
}

/** What `createJob` would create. */
function planJob(batch: NewBatch, signal: AbortSignal): Promise<JobBatchPlan | ConfigApplicationPlan> {
  const { org, profileId = '', options } = batch
  if (isPlain(batch)) return dryRun(`/orgs/${org}/job-batches`, { body: jobOf(batch), signal })
  return dryRun(`/orgs/${org}/configs/${profileId}/apply`, { body: options, signal })
}

/** The view in which an operator adds what a new job lacks. */
const remedyOf = (kind: Kind | undefined, lacks: string): [string, Record<string, string>] =>
  lacks.includes('group') ? ['groups', {}] : kind === 'apply_config' ? ['profiles', {}] : ['jobs', { show: 'firmware' }]
