import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

const mebibyte = 1024 ** 2

/** Files of 8 MiB without importable rows. */
const files: readonly [type: string, body: string][] = [
  ['text/csv', `serial,name,model\n${`"${'x,'.repeat(4 * mebibyte - 100)}"`}`],
  ['text/csv', `serial,name,model\n${','.repeat(8 * mebibyte - 100)}`],
  ['text/csv', `serial,name,model\n${'a,b,\n'.repeat(9_999)}`],
  ['text/csv', `serial,name,model,tags\n${`s,n,m,${'t;'.repeat(380)}\n`.repeat(9_999)}`],
  ['application/x-ndjson', '{}\n'.repeat(9_999)],
  ['application/x-ndjson', '\n'.repeat(8 * mebibyte - 100)],
  ['application/x-ndjson', `{"serial":"s","name":"n","model":"m","tags":[${'"t",'.repeat(2 * mebibyte - 100)}"t"]}`],
  ['application/x-ndjson', `${'{"serial":"same","name":"n","model":"m"}\n'.repeat(9_999)}`],
]

/** Sends several imports of the maximum size at once. */
export const bulkImports: Attack = {
  name: 'bulk-imports',
  about: 'eight concurrent imports of 8 MiB or 10,000 invalid rows',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    try {
      for (let round = 0; round < (quick ? 1 : 5) && !signal.aborted; round++) {
        const imports = files.map(([type, body], index) =>
          client.call({
            url: `${url}/devices/import?orgId=${attacker.organizationId}&atomic=true&tokens=${index % 2 === 0}`,
            method: 'POST',
            headers: { authorization: `Bearer ${attacker.adminKey}`, 'content-type': type },
            body,
          }),
        )
        await Promise.all(imports)
      }
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
