import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

const bytes = 1_000_000

const values: readonly string[] = [
  `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  `${'{"a":'.repeat(bytes / 6)}1${'}'.repeat(bytes / 6)}`,
  `[${'[],'.repeat(bytes / 3)}[]]`,
  `{${Array.from({ length: 80_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
  `"${'a '.repeat(bytes / 2)}"`,
  '9'.repeat(bytes),
  `1e${'9'.repeat(bytes)}`,
]

/** Sends large, deep and wide JSON to every route with a body. */
export const nestedBodies: Attack = {
  name: 'nested-bodies',
  about: '1 MiB of deep, wide and numeric JSON to the routes of the control plane, with and without permission',
  async run({ url, attacker, bystander }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const [device] = attacker.devices
    const paths = (organizationId: string) => [
      `/orgs/${organizationId}/configs`,
      `/orgs/${organizationId}/groups`,
      `/orgs/${organizationId}/webhooks`,
      `/devices/${device?.id}/jobs`,
      '/devices',
    ]
    const bodiesOf = (value: string) => [
      value,
      `{"name":"n","settings":${value}}`,
      `{"name":"n","smartTags":${value}}`,
      `{"kind":"collect_diagnostics","parameters":${value}}`,
    ]
    try {
      for (const token of [attacker.adminKey, attacker.viewerKey]) {
        for (const path of [...paths(attacker.organizationId), ...(quick ? [] : paths(bystander.organizationId))]) {
          for (const value of values) {
            if (signal.aborted) break
            const send = (body: string) =>
              client.call({
                url: `${url}${path}`,
                method: 'POST',
                headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
                body,
              })
            await Promise.all(bodiesOf(value).map(send))
          }
        }
      }
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
