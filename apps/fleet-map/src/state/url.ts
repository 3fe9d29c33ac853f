import { signal } from '@preact/signals'

/** What the address shows after `#`: the view and its parameters. A link shows the same picture to the next reader. */
export type Place = { view: string; params: Record<string, string> }

function read(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { view: path || 'map', params: Object.fromEntries(new URLSearchParams(query)) }
}

function write({ view, params }: Place): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString()
  return `#/${view}${query ? `?${query}` : ''}`
}

export const place = signal<Place>(read())

addEventListener('hashchange', () => {
  place.value = read()
})

/** Address of a view; parameters named in `keep` are carried over from where the reader is now. */
export function linkTo(view: string, params: Record<string, string> = {}, keep: string[] = ['org']): string {
  const kept = Object.fromEntries(Object.entries(place.value.params).filter(([name]) => keep.includes(name)))
  return write({ view, params: { ...kept, ...params } })
}

/** Changes parameters in place; null removes one. `replace` leaves no step in the browser's history (sliders, panning). */
export function setParams(changes: Record<string, string | null>, { replace = false } = {}): void {
  const params = { ...place.value.params }
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') delete params[name]
    else params[name] = value
  }
  const next = { view: place.value.view, params }
  if (write(next) === write(place.value)) return
  history[replace ? 'replaceState' : 'pushState'](null, '', write(next))
  place.value = next
}

export function goTo(view: string, params: Record<string, string> = {}, keep?: string[]): void {
  location.hash = linkTo(view, params, keep)
}
