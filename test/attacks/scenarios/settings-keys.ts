import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

/** Sends keys and values that are expensive for the patterns on settings and job parameters. */
export const settingsKeys: Attack = {
  name: 'settings-keys',
  about: 'keys of up to 1 MiB of digits in profile settings and job parameters, also for other organizations',
  async run({ url, attacker, bystander }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const headers = { authorization: `Bearer ${attacker.adminKey}` }
    const viewer = { authorization: `Bearer ${attacker.viewerKey}` }
    const [device] = attacker.devices
    const post = (path: string, json: unknown, as = headers) =>
      client.call({ url: `${url}${path}`, method: 'POST', headers: as, json })
    const lengths = quick ? [1_000, 128_000, 1_000_000] : [1_000, 16_000, 128_000, 500_000, 1_000_000]
    try {
      for (const length of lengths) {
        if (signal.aborted) break
        for (const key of ['9'.repeat(length), `${'9'.repeat(length)}.`, `${'1.'.repeat(length / 2)}x`]) {
          const profile = { name: `p${length}`, settings: { [key]: 'value' } }
          await Promise.all([
            post(`/orgs/${attacker.organizationId}/configs`, profile),
            post(`/orgs/${bystander.organizationId}/configs`, profile),
            post(`/orgs/${attacker.organizationId}/configs`, profile, viewer),
            post(`/devices/${device?.id}/jobs`, { kind: 'collect_diagnostics', parameters: { [key]: 'value' } }),
          ])
        }
      }
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
