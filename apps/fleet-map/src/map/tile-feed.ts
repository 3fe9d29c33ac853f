import { clusterExtent, type DrawnCluster } from './cluster-extent.ts'
import { mergeBorders, readDeviceTile, type TileItem } from './device-tile.ts'
import type { Bounds } from './surface.ts'
import { isInTile, keyOf, type TileId, tilesCovering } from './tile-cover.ts'

/** Where tiles come from: an address with {z}, {x} and {y}, and the headers that authenticate. */
export type TileSource = { url: string; headers: Record<string, string> }

type Options = {
  /** Called with everything that the view shows, after each change. */
  onItems: (items: TileItem[]) => void
  /** Shortest time between two checks of so many tiles in view. */
  pauseMs: (tiles: number) => number
}

/** What is shown of a tile, and when it was last checked: -Infinity while it is from tiles of another zoom. */
type ShownTile = { items: readonly TileItem[]; checkedMs: number }
type KeptTile = ShownTile & { etag: string | null }

const maxKeptTiles = 100
const maxKeptItems = 50_000
/** A response that takes longer must not hold up the other tiles. */
const maxWaitMs = 30_000
/** Many tiles are checked less often, so that a page makes at most 80 of the 600 requests that a plan permits in a minute. */
const perTileMs = 750
/** Returns the time between two checks of so many tiles, at least `refreshMs`. */
export const checkPauseMs = (refreshMs: number, tiles: number): number => Math.max(refreshMs, tiles * perTileMs)

/** Tiles that arrive together are drawn together. */
const gatherMs = 40

/**
 * Follows the devices in a view. Reads the tiles of the view, checks them again and again with their entity tags, and
 * shows them again only if one changed. While a tile loads, its area shows what it showed before, so nothing flickers.
 *
 * Long because reads, timers and what is shown share the tiles in view.
 */
export function openTileFeed({ onItems, pauseMs }: Options) {
  const kept = new Map<string, KeptTile>()
  const loading = new Map<string, AbortController>()
  let source: TileSource | null = null
  let view: { bounds: Bounds; zoom: number } | null = null
  let wanted: TileId[] = []
  /** What is shown of each wanted tile. */
  let shown: ShownTile[] = []
  let refreshTimer: ReturnType<typeof setTimeout> | undefined
  let showTimer: ReturnType<typeof setTimeout> | undefined
  let retryMs = 0

  const show = () => {
    clearTimeout(showTimer)
    showTimer = undefined
    const before = shown
    shown = shownOf(wanted, kept, before)
    const isSame =
      shown.length === before.length && shown.every(({ items }, index) => isSameList(items, before[index]?.items))
    if (!isSame) onItems(mergeBorders(itemsOf(shown), wanted[0]?.z ?? 0))
  }
  const showSoon = () => {
    showTimer ??= setTimeout(show, gatherMs)
  }

  /** Reads a tile unless it is being read. Resolves to whether its content changed. */
  const read = async (tile: TileId): Promise<boolean> => {
    const id = keyOf(tile)
    if (!source || loading.has(id)) return false
    const abort = new AbortController()
    loading.set(id, abort)
    const before = kept.get(id)
    try {
      const response = await fetchTile(source, tile, before?.etag ?? null, abort.signal)
      const bytes = response.status === 200 ? await response.arrayBuffer() : undefined
      if (abort.signal.aborted) return false
      retryMs = Math.max(retryMs, retryAfterMs(response))
      const checkedMs = performance.now()
      if (response.status === 304 && before) {
        before.checkedMs = checkedMs
        return false
      }
      if (!response.ok) return false
      const items = bytes ? readDeviceTile(bytes, tile) : []
      keep(kept, id, { etag: response.headers.get('ETag'), items, checkedMs }, wanted)
      return before === undefined || before.items.length + items.length > 0
    } catch {
      // The next check reads the tile again. The page shows elsewhere that the service is unreachable.
      return false
    } finally {
      if (loading.get(id) === abort) loading.delete(id)
    }
  }
  const abortLoads = (isObsolete: (id: string) => boolean) => {
    for (const [id, abort] of loading)
      if (isObsolete(id)) {
        abort.abort()
        loading.delete(id)
      }
  }

  /** Checks all tiles in view, and shows their changes at once: a device that moved to another tile is never in both. */
  const refresh = async () => {
    retryMs = 0
    const changes = await Promise.all(wanted.map(read))
    if (changes.includes(true)) show()
    schedule()
  }
  const schedule = () => {
    clearTimeout(refreshTimer)
    refreshTimer = source ? setTimeout(refresh, Math.max(pauseMs(wanted.length), retryMs)) : undefined
  }
  const readView = () => {
    wanted = view ? tilesCovering(view.bounds, view.zoom) : []
    const ids = new Set(wanted.map(keyOf))
    abortLoads((id) => !ids.has(id))
    for (const tile of wanted)
      if (performance.now() - (kept.get(keyOf(tile))?.checkedMs ?? -Infinity) > pauseMs(wanted.length))
        void read(tile).then((isChanged) => {
          if (isChanged) showSoon()
        })
    showSoon()
  }

  return {
    /** Follows other tiles; null follows none. What the earlier ones showed disappears at once. */
    follow(next: TileSource | null): void {
      source = next
      abortLoads(() => true)
      kept.clear()
      shown = []
      onItems([])
      readView()
      schedule()
    },
    look(bounds: Bounds, zoom: number): void {
      view = { bounds, zoom }
      readView()
    },
    /** Returns the box of the devices of a cluster in the view. */
    async extentOf(cluster: DrawnCluster): Promise<Bounds> {
      const followed = source
      return clusterExtent((tile) => readOnce(followed, tile), cluster, wanted[0]?.z ?? 0)
    },
  }
}

async function readOnce(source: TileSource | null, tile: TileId): Promise<readonly TileItem[]> {
  if (!source) return []
  const response = await fetchTile(source, tile, null, AbortSignal.timeout(maxWaitMs))
  return response.status === 200 ? readDeviceTile(await response.arrayBuffer(), tile) : []
}

/** Keeps a tile, and drops the oldest ones that are not in view if there are too many. */
function keep(kept: Map<string, KeptTile>, id: string, tile: KeptTile, wanted: readonly TileId[]): void {
  kept.delete(id)
  kept.set(id, tile)
  const inView = new Set(wanted.map(keyOf))
  let items = [...kept.values()].reduce((sum, other) => sum + other.items.length, 0)
  for (const [other, { items: unused }] of kept) {
    if (kept.size <= maxKeptTiles && items <= maxKeptItems) break
    if (inView.has(other)) continue
    kept.delete(other)
    items -= unused.length
  }
}

/** Returns what to show of each wanted tile: what was read of it, or else what its area showed before. */
function shownOf(
  wanted: readonly TileId[],
  kept: ReadonlyMap<string, KeptTile>,
  before: readonly ShownTile[],
): ShownTile[] {
  const itemsBefore = once(() => itemsOf(before))
  return wanted.map(
    (tile) =>
      kept.get(keyOf(tile)) ?? {
        items: itemsBefore().filter((item) => isInTile(tile, item)),
        checkedMs: -Infinity,
      },
  )
}

/** The items of tiles. A device that moved between the checks of two tiles is in both: the tile checked last has it. */
function itemsOf(tiles: readonly ShownTile[]): TileItem[] {
  const lastMs = new Map<string, number>()
  for (const { items, checkedMs } of tiles)
    for (const { device } of items)
      if (device) lastMs.set(device.deviceId, Math.max(checkedMs, lastMs.get(device.deviceId) ?? -Infinity))
  return tiles.flatMap(({ items, checkedMs }) =>
    items.filter(({ device }) => !device || lastMs.get(device.deviceId) === checkedMs),
  )
}

const isSameList = (a: readonly TileItem[], b: readonly TileItem[] | undefined): boolean =>
  a === b || (a.length === 0 && b?.length === 0)

function once<Value>(make: () => Value): () => Value {
  let made: { value: Value } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

const fetchTile = ({ url, headers }: TileSource, { z, x, y }: TileId, etag: string | null, signal: AbortSignal) =>
  fetch(url.replace('{z}', String(z)).replace('{x}', String(x)).replace('{y}', String(y)), {
    headers: { ...headers, ...(etag ? { 'If-None-Match': etag } : {}) },
    credentials: headers.Authorization ? 'omit' : 'same-origin',
    cache: 'no-store',
    signal: AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]),
  })

const retryAfterMs = ({ headers }: Response): number => (Number(headers.get('Retry-After')) || 0) * 1_000
