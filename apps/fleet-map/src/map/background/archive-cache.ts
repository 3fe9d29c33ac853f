import { type Header, SharedPromiseCache, type Source } from 'pmtiles'

/** Reads again what could not be read. The library's own cache returns the first failure until the page is loaded again. */
export class ArchiveCache extends SharedPromiseCache {
  override async getHeader(source: Source): Promise<Header> {
    try {
      return await super.getHeader(source)
    } catch (error) {
      this.cache.delete(source.getKey())
      throw error
    }
  }

  override async getDirectory(...part: Parameters<SharedPromiseCache['getDirectory']>) {
    try {
      return await super.getDirectory(...part)
    } catch (error) {
      const [source, offset, length, { etag = '' }] = part
      this.cache.delete([source.getKey(), etag, offset, length].join('|'))
      throw error
    }
  }
}
