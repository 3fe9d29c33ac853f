import type { Finding } from '../../faults/fault.ts'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { createNeighbours, type LoadSize, sendLoad } from '../neighbours/load.ts'
import { type NoticeTimes, watchNotices } from '../neighbours/notices.ts'
import { createTenant } from '../tenant.ts'

/** How much later than without the neighbours a notice may come. */
const laterMs: NoticeTimes = { alertMs: 90_000, webhookMs: 10_000 }
/** A notice that takes longer is not waited for. */
const limitsMs: NoticeTimes = { alertMs: 120_000, webhookMs: 30_000 }
const quietRounds = 2
const rounds = 8

const sizes: Record<'quick' | 'full', LoadSize> = {
  quick: { imports: 10, rowsPerImport: 2_000, rules: 60, webhooks: 20 },
  full: { imports: 40, rowsPerImport: 10_000, rules: 200, webhooks: 50 },
}

/** Everything that an organization may rightly do, all of it at once. */
export const neighbours: Attack = {
  name: 'neighbours',
  about: 'imports, bulk changes, group jobs, transfers, enrollments, rules, webhooks and e-mail of one organization',
  target: { receivers: true },
  durationMs: 120_000,
  mayNotFail: true,
  async run(target, { quick, signal }) {
    const neighbouring = await createNeighbours(target, 30)
    const watcher = await createTenant(target.url, target.adminKey, 'Watcher', quietRounds + rounds)
    const notices = await watchNotices(target, watcher)
    const quiet: NoticeTimes[] = []
    for (let round = 0; round < quietRounds; round += 1) quiet.push(await notices.measure(limitsMs))

    const client = openAttackerClient(signal)
    const end = new AbortController()
    const until = AbortSignal.any([signal, end.signal])
    const load = sendLoad(target, neighbouring, sizes[quick ? 'quick' : 'full'], { client, signal: until })
    const loaded: NoticeTimes[] = []
    try {
      const endMs = Date.now() + (quick ? 30_000 : 300_000)
      while (loaded.length < rounds && Date.now() < endMs && !signal.aborted) {
        loaded.push(await notices.measure(limitsMs))
      }
    } finally {
      end.abort()
      await load
      client.close()
    }
    return {
      answers: client.answers,
      acceptedSamples: notices.acceptedSamples(),
      findings: [
        noticeFinding('alert', 'alertMs', quiet, loaded),
        noticeFinding('webhook', 'webhookMs', quiet, loaded),
      ],
    }
  },
}

function noticeFinding(
  what: string,
  time: keyof NoticeTimes,
  quiet: readonly NoticeTimes[],
  loaded: readonly NoticeTimes[],
): Finding {
  const longest = (times: readonly NoticeTimes[]) => Math.max(...times.map((one) => one[time]))
  const [before, during] = [longest(quiet), longest(loaded)]
  const detail = `${during.toFixed(0)} ms at most of ${loaded.length}, ${before.toFixed(0)} ms without the neighbours`
  return { what: `a bystander's ${what}`, held: during < before + laterMs[time], detail, isMeasured: true }
}
