import { addProtocol } from 'maplibre-gl'
import { PMTiles, Protocol } from 'pmtiles'
import { ArchiveCache } from './archive-cache.ts'

const protocol = new Protocol({ metadata: true })
addProtocol('pmtiles', protocol.tile)

const archives = new Map<string, PMTiles>()

/** Opens a PMTiles file once, so that its directories stay in memory. */
export function archiveAt(address: string): PMTiles {
  const known = archives.get(address)
  if (known) return known
  const archive = new PMTiles(address, new ArchiveCache())
  archives.set(address, archive)
  protocol.add(archive)
  return archive
}
