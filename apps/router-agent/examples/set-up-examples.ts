import { pause } from '#core/schedule'
import { type CallService, listAll } from '../call-service.ts'
import { profileName } from '../fleet-setup.ts'
import type { Log } from '../log.ts'
import type { RouterSpec } from '../world/roster.ts'
import { exampleImages, siteImage, vehicleImage, withdrawnImage } from './images.ts'
import {
  castOf,
  failedJobRule,
  oldProfileRule,
  placesOf,
  profileChange,
  rulesOf,
  siteRollout,
  vehicleProfile,
  vehicleRollout,
} from './plan.ts'
import type { DoneSteps } from './steps.ts'

type ExampleOptions = {
  call: CallService
  organizationId: string
  specs: RouterSpec[]
  steps: DoneSteps
  log: Log
  signal: AbortSignal
}

type Identified = { id: string }
type Ids = Record<string, string>
type BatchBody = { deviceIds?: string[]; [field: string]: unknown }

const pollEveryMs = 10_000
/** A person may have changed what a step waits for, such as a rule. Then the next step follows anyway. */
const waitLimitMs = 30 * 60_000

/**
 * Fills the demo organization as a person would: places, alert rules, firmware, profiles, a rollout that ends soon and one
 * that stays open for hours, and jobs and profile versions whose alerts open and close. The routers do the work. Each step
 * is done once. Resolves when all are done, after about ten minutes. Throws as CallService does, and when `signal` aborts.
 */
export async function setUpExamples(options: ExampleOptions): Promise<void> {
  const { specs, log } = options
  const organization = createOrganization(options)
  const { findOrCreate, start, serialsToIds, waitUntil, isFinished, hasAlert, changeFirstVersion, once } = organization

  const placeIds = await once('places', () => findOrCreate('places', 'name', placesOf(specs)))
  const ruleIds = await once('alert rules', () => findOrCreate('alert-rules', 'name', rulesOf(specs, placeIds)))
  const images = exampleImages.map(({ bytes, model, ...image }) => ({
    ...image,
    sizeBytes: bytes.byteLength,
    models: [model],
  }))
  const imageIds = await once('firmware', () => findOrCreate('firmware', 'sha256', images))
  await once('vehicle profile', () => findOrCreate('configs', 'name', [vehicleProfile]))
  const groupIds = await organization.idsBy('groups', 'name')
  const profileId = (await organization.idsBy('configs', 'name'))[profileName]
  const deviceIds = await serialsToIds()
  const idsOf = (serials: (string | undefined)[]) =>
    serials.map((serial) => deviceIds[serial ?? '']).filter((id) => id !== undefined)
  const cast = castOf(specs)

  const update = (image: typeof siteImage, groupId: string | undefined, rollout: object) => ({
    ...{ kind: 'firmware_update', firmwareImageId: imageIds[image.sha256], groupId, rollout },
  })
  await start('vehicle rollout', 'job-batches', update(vehicleImage, groupIds.Trucks, vehicleRollout))
  const apply = `configs/${profileId}/apply`
  const applied = await start('profile', apply, { deviceIds: idsOf(cast.ships) })

  const { version, url, sha256 } = withdrawnImage
  const failing = idsOf([cast.failing.site, cast.failing.ship])
  await start('withdrawn firmware', 'job-batches', {
    ...{ kind: 'firmware_update', parameters: { version, url, sha256 }, deviceIds: failing },
  })
  const [failingSite] = idsOf([cast.failing.site])
  await start('site rollout', 'job-batches', update(siteImage, groupIds.Sites, siteRollout), () =>
    waitUntil('alert of the failed update', () => hasAlert(ruleIds[failedJobRule], failingSite)),
  )

  await once('profile version', async () => {
    await waitUntil('application of the profile', () => isFinished(applied))
    await changeFirstVersion(`configs/${profileId}`, profileChange)
  })
  const updatedShips = idsOf(cast.updatedShips)
  await start('profile version applied', apply, { deviceIds: updatedShips }, () =>
    waitUntil('alert of the earlier version', () => hasAlert(ruleIds[oldProfileRule], updatedShips[0])),
  )
  log('examples_ready')
}

/** What the set-up does with the API of an organization. When `signal` has aborted, it throws instead of doing a step. */
function createOrganization({ call, organizationId, steps, log, signal }: ExampleOptions) {
  const home = `/orgs/${organizationId}`

  /** The ids of the items of a list by the value of one of their fields. */
  async function idsBy(list: string, field: string): Promise<Ids> {
    const items = await listAll<Identified & Record<string, unknown>>(call, `${home}/${list}?`)
    return Object.fromEntries(items.map((item) => [String(item[field]), item.id]))
  }

  async function once<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted()
    return steps.once(name, async () => {
      const result = await work()
      log('example_created', { step: name })
      return result
    })
  }

  return {
    idsBy,
    once,
    /** Creates the items that the list has not, and returns the ids of all by `field`. */
    async findOrCreate<Item extends object>(list: string, field: keyof Item & string, wanted: Item[]): Promise<Ids> {
      const ids = await idsBy(list, field)
      for (const item of wanted) {
        const name = String(item[field])
        if (ids[name] !== undefined) continue
        ids[name] = ((await call('POST', `${home}/${list}`, JSON.stringify(item))) as Identified).id
      }
      return ids
    },
    async serialsToIds(): Promise<Ids> {
      const devices = await listAll<Identified & { serial: string }>(call, `/devices?orgId=${organizationId}`)
      return Object.fromEntries(devices.map(({ serial, id }) => [serial, id]))
    },
    /** Starts a batch once, when `ready`. Its key makes the service repeat an answer that a kill lost. Returns its id; null without devices. */
    async start(step: string, path: string, body: BatchBody, ready = async () => {}): Promise<string | null> {
      return once(step, async () => {
        if (body.deviceIds?.length === 0) return null
        await ready()
        const headers = { 'idempotency-key': `examples-${step.replaceAll(' ', '-')}` }
        return ((await call('POST', `${home}/${path}`, JSON.stringify(body), headers)) as Identified).id
      })
    },
    /** Changes a profile, unless it was changed before. */
    async changeFirstVersion(path: string, body: object): Promise<void> {
      const { version } = (await call('GET', `${home}/${path}`)) as { version: number }
      if (version === 1) await call('PATCH', `${home}/${path}`, JSON.stringify(body))
    },
    /** Also true without a batch. */
    async isFinished(batchId: string | null): Promise<boolean> {
      if (batchId === null) return true
      const { status } = (await call('GET', `${home}/job-batches/${batchId}`)) as { status: string }
      return status === 'finished' || status === 'cancelled'
    },
    /** Also true without a rule or a device. */
    async hasAlert(ruleId: string | undefined, deviceId: string | undefined): Promise<boolean> {
      if (ruleId === undefined || deviceId === undefined) return true
      const path = `${home}/alerts?ruleId=${ruleId}&deviceId=${deviceId}&limit=1`
      return ((await call('GET', path)) as { items: unknown[] }).items.length > 0
    },
    async waitUntil(what: string, condition: () => Promise<boolean>): Promise<void> {
      const giveUpAtMs = performance.now() + waitLimitMs
      log('examples_wait', { for: what })
      while (!signal.aborted && !(await condition()) && performance.now() < giveUpAtMs) await pause(pollEveryMs, signal)
      signal.throwIfAborted()
    },
  }
}
