import { createHash } from 'node:crypto'

/** An image of the firmware catalogue, with its bytes. */
export type ExampleImage = { version: string; model: string; url: string; sha256: string; bytes: Buffer }

/** Reserved for documentation (RFC 2606): no server on the Internet has this name. */
export const downloadHost = 'downloads.example.com'

const imageBytes = 96 * 1024

/** Makes an image whose bytes depend only on its model and version, so that its SHA-256 is the same at every start. */
function makeImage(model: string, version: string): ExampleImage {
  const url = `https://${downloadHost}/${model.toLowerCase()}-${version}.bin`
  const bytes = createHash('shake256', { outputLength: imageBytes }).update(url).digest()
  return { version, model, url, sha256: createHash('sha256').update(bytes).digest('hex'), bytes }
}

export const siteImage = makeImage('RF-310', '4.3.1')
export const vehicleImage = makeImage('RF-520', '4.4.0')
export const exampleImages: readonly ExampleImage[] = [siteImage, vehicleImage]

/** An image that its server does not have, so that updates to it fail. */
export const withdrawnImage = makeImage('RF-310', '4.3.1-rc2')
