import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { type AcceptedSample, type DecodeContext, decodeBatch } from '#telemetry/report/accept'
import type { BatchFormat } from '#telemetry/report/envelope'
import { type Check, type CheckContext, checkReport } from './report-check.ts'
import { transferable } from './transferable.ts'

/** A body to check, and the result. The body's memory moves with the message in both directions. */
export type ToCheckThread = { body: Uint8Array<ArrayBuffer>; context: CheckContext }
export type FromCheckThread = { body: Uint8Array<ArrayBuffer>; checked: Check['checked'] }

/** A body to decode for the writer. */
export type ToDecodeThread = { body: Uint8Array; format: BatchFormat; context: DecodeContext }
export type FromDecodeThread = { samples: AcceptedSample[] } | { failure: unknown }

/** `writers`: the ports for requests of the writers. */
export type CheckThreadSettings = { writers: MessagePort[] }

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

function decode({ body, format, context }: ToDecodeThread): FromDecodeThread {
  try {
    const decoded = decodeBatch(bufferOf(body), format, context)
    return { samples: decoded.ok ? decoded.samples : [] }
  } catch (failure) {
    return { failure }
  }
}

const { writers } = workerData as CheckThreadSettings
for (const writer of writers) {
  writer.on('message', (question: ToDecodeThread) => writer.postMessage(decode(question)))
}

/** A writer waits for one report at a time, and its other rows wait too. Writers therefore come before further checks. */
function answerWriters(): void {
  for (const writer of writers) {
    for (let asked = receiveMessageOnPort(writer); asked; asked = receiveMessageOnPort(writer)) {
      writer.postMessage(decode(asked.message as ToDecodeThread))
    }
  }
}

parentPort?.on('message', ({ body, context }: ToCheckThread) => {
  answerWriters()
  const { body: own, checked } = checkReport(bufferOf(body), context)
  const found: FromCheckThread = { body: transferable(own), checked }
  parentPort?.postMessage(found, [found.body.buffer])
})
