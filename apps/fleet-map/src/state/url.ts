import { signal } from '@preact/signals'

/** The view and its parameters, which the address has after `#`. A shared link shows the same. */
export type PageAddress = { view: string; params: Record<string, string> }

function read(): PageAddress {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { view: path || 'map', params: Object.fromEntries(new URLSearchParams(query)) }
}

function write({ view, params }: PageAddress): string {
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value !== '')).toString()
  return `#/${view}${query ? `?${query}` : ''}`
}

export const place = signal<PageAddress>(read())

let keepsPage: ((next: PageAddress) => boolean) | undefined

/** Lets a form refuse that another address is shown: it returns true, and asks the reader. Returns what ends that. */
export function guardLeaving(refuses: (next: PageAddress) => boolean): () => void {
  keepsPage = refuses
  return () => {
    if (keepsPage === refuses) keepsPage = undefined
  }
}

addEventListener('hashchange', () => {
  const next = read()
  if (keepsPage?.(next)) history.pushState(null, '', write(place.value))
  else place.value = next
})

/** Returns the address of a view. Copies the parameters named in `keep` from the current address. */
export function linkTo(view: string, params: Record<string, string> = {}, keep: string[] = ['org']): string {
  const kept = Object.fromEntries(Object.entries(place.value.params).filter(([name]) => keep.includes(name)))
  return write({ view, params: { ...kept, ...params } })
}

/** Changes parameters of the address; null removes one. `replace` adds no entry to the browser history. */
export function setParams(changes: Record<string, string | null>, { replace = false } = {}): void {
  // A link was followed, and its event is still to come: do not write the address from before over it.
  if (write(read()) !== write(place.value)) return
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

/** Removes a secret parameter from the address and returns it. */
export function takeParam(name: string): string | undefined {
  const { [name]: value, ...params } = place.value.params
  if (value === undefined) return undefined
  const next = { view: place.value.view, params }
  history.replaceState(null, '', write(next))
  place.value = next
  return value
}

export function goTo(view: string, params: Record<string, string> = {}, keep?: string[]): void {
  location.hash = linkTo(view, params, keep)
}
