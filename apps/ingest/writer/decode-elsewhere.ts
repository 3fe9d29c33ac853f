import type { MessagePort } from 'node:worker_threads'
import type { LoggedBatch } from '#telemetry-log/log'
import { type DecodeReport, decodeHere, isDense } from '#telemetry-writer/reports/decode-report'
import type { DecodedReport } from '#telemetry-writer/reports/sightings'
import type { FromDecodeThread, ToDecodeThread } from '../report/check-thread.ts'

/**
 * Decodes dense bodies in the thread behind `port`, whose memory is limited, and all others at once. The writer's memory
 * then holds only the accepted samples of a dense body.
 */
export function createDecodeReport(port: MessagePort): DecodeReport {
  // Without the thread the process ends, and the next one reads these reports again.
  const waiting: ((found: FromDecodeThread) => void)[] = []
  port.on('message', (found: FromDecodeThread) => waiting.shift()?.(found))

  async function decodeElsewhere(batch: LoggedBatch): Promise<DecodedReport> {
    const { format, receivedAtMs, oldestTsMs, sampleCount } = batch
    // A copy of the body alone: it may be a view into all that was read together.
    const body = new Uint8Array(batch.body)
    const found = await new Promise<FromDecodeThread>((resolve) => {
      waiting.push(resolve)
      const question: ToDecodeThread = { body, format, context: { receivedAtMs, oldestTsMs, sampleCount } }
      port.postMessage(question, [body.buffer])
    })
    return 'samples' in found ? { batch, samples: found.samples } : { batch, samples: [], failure: found.failure }
  }

  return (batch) => (isDense(batch.body) ? decodeElsewhere(batch) : decodeHere(batch))
}
