import { openSegmentLog } from '#telemetry-log/segment-log'

// A process that appends numbered batches concurrently and prints each number when its batch is durable. It exits with the
// reason on stderr if the log cannot be opened or written.
const [folder = '', first = '0'] = process.argv.slice(2)
const log = await openSegmentLog({ folder, maxSegmentBytes: 200_000 }).catch(endWith)
let number = Number(first)
log.failed.then(endWith)

async function appendForEver(): Promise<never> {
  for (;;) {
    const own = number++
    await log.append({
      deviceId: '01890000-0000-7000-8000-0000000000aa',
      organizationId: '01890000-0000-7000-8000-0000000000bb',
      deviceClass: 'vehicle',
      receivedAtMs: Date.now(),
      oldestTsMs: 0,
      format: 'json',
      sampleCount: 1,
      body: Buffer.from(`${own}:${'z'.repeat((own * 131) % 5_000)}`),
    })
    process.stdout.write(`${own}\n`)
  }
}

function endWith(error: Error): never {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

await Promise.all(Array.from({ length: 16 }, appendForEver)).catch(endWith)
