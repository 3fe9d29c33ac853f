import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import { z } from 'zod'
import { errorText } from '#core/error-text'
import { type Action, type ActionTools, failed } from './action.ts'

const parameters = z.object({
  version: z.string().min(1).max(200),
  url: z.url({ protocol: /^https?$/ }),
  sha256: z.string().regex(/^[0-9a-fA-F]{64}$/),
  sizeBytes: z.number().int().positive().optional(),
})

type Image = z.infer<typeof parameters>

const largestImageBytes = 512 * 1024 * 1024
const progressStepPercent = 10

class DownloadError extends Error {}

/**
 * Downloads the image with progress reports, verifies size and SHA-256, stages it and requests a restart. A job that is
 * cancelled during the download has no effect.
 */
export const updateFirmware: Action = async (job, tools) => {
  const parsed = parameters.safeParse(job.parameters)
  if (!parsed.success) return failed(`Invalid parameters: ${parsed.error.issues[0]?.message ?? ''}`)
  const image = parsed.data
  const staging = join(tools.folder, 'firmware')
  const part = join(staging, 'download.part')
  await mkdir(staging, { recursive: true })
  try {
    const sha256 = await download(image, part, tools)
    if (sha256 !== image.sha256.toLowerCase()) return failed(`Wrong SHA-256: ${sha256}. The image was not installed.`)
    await rename(part, join(staging, 'staged.image'))
  } catch (error) {
    if (error instanceof DownloadError) return failed(error.message)
    return failed(`The download failed: ${errorText(error)}`)
  } finally {
    await rm(part, { force: true })
  }
  return {
    status: 'succeeded',
    detail: `Running ${image.version}.`,
    restart: { reason: 'firmware_update', firmware: image.version },
  }
}

async function download(image: Image, file: string, { progress, images }: ActionTools): Promise<string> {
  const answer = await request(image.url, {
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
    ...(images && { dispatcher: images }),
  })
  if (answer.statusCode !== 200) {
    await answer.body.dump()
    throw new DownloadError(`The image server responded with ${answer.statusCode}.`)
  }
  const expectedBytes = image.sizeBytes ?? (Number(answer.headers['content-length']) || undefined)
  const hash = createHash('sha256')
  let receivedBytes = 0
  let nextPercent = progressStepPercent

  async function* measured(body: AsyncIterable<Buffer>) {
    for await (const chunk of body) {
      receivedBytes += chunk.byteLength
      if (receivedBytes > (image.sizeBytes ?? largestImageBytes))
        throw new DownloadError('The image is larger than expected.')
      hash.update(chunk)
      yield chunk
      const percent = expectedBytes ? Math.min(99, Math.floor((receivedBytes / expectedBytes) * 100)) : 0
      if (percent >= nextPercent) {
        nextPercent = percent + progressStepPercent
        if ((await progress(percent)).cancelRequested) throw new DownloadError('Cancelled during the download.')
      }
    }
  }
  // Opened before the pipeline starts: a stream that opens after the cleanup would leave a file behind.
  const part = await open(file, 'w', 0o600)
  await pipeline(answer.body, measured, part.createWriteStream({ flush: true }))
  if (image.sizeBytes !== undefined && receivedBytes !== image.sizeBytes) {
    throw new DownloadError(`The image has ${receivedBytes} bytes, expected ${image.sizeBytes}.`)
  }
  return hash.digest('hex')
}
