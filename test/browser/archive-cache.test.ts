import { FetchSource, PMTiles } from 'pmtiles'
import { expect, test, vi } from 'vitest'
import { ArchiveCache } from '../../apps/fleet-map/src/map/background/archive-cache.ts'

const header = { etag: 'a', internalCompression: 1 } as Awaited<ReturnType<PMTiles['getHeader']>>

/** A file on a network that is down. */
function lostFile() {
  const source = new FetchSource('https://maps.example.com/streets.pmtiles')
  const read = vi.spyOn(source, 'getBytes').mockRejectedValue(new Error('The network is down.'))
  return { source, read }
}

test('a file that could not be read is read again', async () => {
  const { source, read } = lostFile()
  const archive = new PMTiles(source, new ArchiveCache())
  await expect(archive.getHeader()).rejects.toThrow('The network is down.')
  await expect(archive.getHeader()).rejects.toThrow('The network is down.')
  expect(read).toHaveBeenCalledTimes(2)
})

test('a directory of a file that could not be read is read again; those who wait for it share one request', async () => {
  const { source, read } = lostFile()
  const cache = new ArchiveCache()
  const ask = () => cache.getDirectory(source, 16_384, 2_048, header)
  await Promise.allSettled([ask(), ask()])
  expect(read).toHaveBeenCalledTimes(1)
  await expect(ask()).rejects.toThrow('The network is down.')
  expect(read).toHaveBeenCalledTimes(2)
})
