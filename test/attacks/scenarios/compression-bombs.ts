import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

const mebibyte = 1024 ** 2

/** Sends compressed bodies that are large when decompressed. */
export const compressionBombs: Attack = {
  name: 'compression-bombs',
  about: 'gzip and zstd bodies of 256 MiB decompressed, with several members, nested, truncated and damaged',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const zeros = Buffer.alloc(256 * mebibyte, ' ')
    const gzip = gzipSync(zeros)
    const zstd = zstdCompressSync(zeros)
    const almost = Buffer.from(`{"samples":[${' '.repeat(mebibyte - 100)}1]}`)
    const bodies: [coding: string, body: Buffer][] = [
      ['gzip', gzip],
      ['zstd', zstd],
      ['gzip', gzipSync(gzip)],
      ['gzip', gzip.subarray(0, gzip.length / 2)],
      ['zstd', zstd.subarray(0, zstd.length / 2)],
      ['gzip', Buffer.concat(Array.from({ length: 500 }, () => gzipSync('{"samples":[]}')))],
      ['gzip', gzipSync(almost)],
      ['zstd', zstdCompressSync(almost)],
      ['br', brotliCompressSync(almost)],
      ['deflate', deflateSync(almost)],
      ['gzip, gzip', gzipSync(gzip)],
      ['gzip', Buffer.alloc(mebibyte, 0x1f)],
    ]
    const device = attacker.devices.at(-1)
    const targets = [
      { path: '/telemetry', token: device?.token, type: 'application/json' },
      { path: '/telemetry', token: device?.token, type: 'application/x-ndjson' },
      {
        path: `/devices/import?orgId=${attacker.organizationId}`,
        token: attacker.adminKey,
        type: 'application/x-ndjson',
      },
      { path: `/orgs/${attacker.organizationId}/configs`, token: attacker.adminKey, type: 'application/json' },
    ]
    try {
      for (let round = 0; round < (quick ? 2 : 8) && !signal.aborted; round++) {
        const sent = targets.flatMap(({ path, token, type }) =>
          bodies.map(([coding, body]) =>
            client.call({
              url: `${url}${path}`,
              method: 'POST',
              headers: { authorization: `Bearer ${token}`, 'content-type': type, 'content-encoding': coding },
              body,
            }),
          ),
        )
        await Promise.all(sent)
      }
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
