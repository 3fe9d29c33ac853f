import { encodingOf } from '../file-encoding.ts'
import { RouteFileError } from './position.ts'

const maxBytes = 50_000_000

/**
 * Returns the text of a GPX or GeoJSON file in UTF-8 or UTF-16. Other encodings differ from UTF-8 only in names, which a
 * route does not need. Throws a RouteFileError for a compressed or a too large file.
 */
export function fileText(bytes: Uint8Array): string {
  if (bytes.length > maxBytes) {
    throw new RouteFileError(`The file has ${Math.ceil(bytes.length / 1e6)} MB. The limit is ${maxBytes / 1e6} MB.`)
  }
  const [first, second] = bytes
  if (first === 0x50 && second === 0x4b) {
    throw new RouteFileError(`The file is a ZIP archive, such as KMZ. ${convert}`)
  }
  if (first === 0x1f && second === 0x8b) throw new RouteFileError('The file is compressed with gzip. Unpack it first.')
  return new TextDecoder(encodingOf(bytes)).decode(bytes).trim()
}

export const convert = 'Save the route as GPX or GeoJSON, or convert the file with a program such as QGIS or GPSBabel.'
