import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { request } from 'undici'
import { z } from 'zod'
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
 * Downloads the image with progress, verifies its SHA-256, stages it and asks for the restart into it. Nothing is
 * staged unless size and hash are right; a job called off during the download ends without an effect.
 */
export const updateFirmware: Action = async (job, tools) => {
  const parsed = parameters.safeParse(job.parameters)
  if (!parsed.success) return failed(`The parameters cannot be used: ${parsed.error.issues[0]?.message ?? ''}`)
  const image = parsed.data
  const staging = join(tools.folder, 'firmware')
  const part = join(staging, 'download.part')
  await mkdir(staging, { recursive: true })
  try {
    const sha256 = await download(image, part, tools)
    if (sha256 !== image.sha256.toLowerCase()) return failed(`The image has SHA-256 ${sha256}: not installed.`)
    await rename(part, join(staging, 'staged.image'))
  } catch (error) {
    if (error instanceof DownloadError) return failed(error.message)
    return failed(`The download broke off: ${error instanceof Error ? error.message : String(error)}`)
  } finally {
    await rm(part, { force: true })
  }
  return {
    status: 'succeeded',
    detail: `Running ${image.version}.`,
    restart: { reason: 'firmware_update', firmware: image.version },
  }
}

async function download(image: Image, file: string, { progress }: ActionTools): Promise<string> {
  const answer = await request(image.url, { headersTimeout: 30_000, bodyTimeout: 30_000 })
  if (answer.statusCode !== 200) {
    await answer.body.dump()
    throw new DownloadError(`The image server answered ${answer.statusCode}.`)
  }
  const expectedBytes = image.sizeBytes ?? (Number(answer.headers['content-length']) || undefined)
  const hash = createHash('sha256')
  let receivedBytes = 0
  let nextPercent = progressStepPercent

  async function* measured(body: AsyncIterable<Buffer>) {
    for await (const chunk of body) {
      receivedBytes += chunk.byteLength
      if (receivedBytes > (image.sizeBytes ?? largestImageBytes))
        throw new DownloadError('The image is larger than announced.')
      hash.update(chunk)
      yield chunk
      const percent = expectedBytes ? Math.min(99, Math.floor((receivedBytes / expectedBytes) * 100)) : 0
      if (percent >= nextPercent) {
        nextPercent = percent + progressStepPercent
        if ((await progress(percent)).cancelRequested) throw new DownloadError('Called off during the download.')
      }
    }
  }
  // Opened before anything can fail: a stream that opens late would leave a file behind what was cleaned up already.
  const part = await open(file, 'w', 0o600)
  await pipeline(answer.body, measured, part.createWriteStream({ flush: true }))
  if (image.sizeBytes !== undefined && receivedBytes !== image.sizeBytes) {
    throw new DownloadError(`The image has ${receivedBytes} bytes, ${image.sizeBytes} were announced.`)
  }
  return hash.digest('hex')
}
