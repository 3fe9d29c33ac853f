import { effect, signal } from '@preact/signals'
import { place } from './url.ts'

const product = 'Routerfleet'

/** What the view shows, such as the name of the selected device; '' shows only the name of the view. */
const subject = signal<{ view: string; text: string }>({ view: '', text: '' })

/** Puts what a view shows in front of the title of the browser tab. */
export function setTitle(text: string): void {
  const { view } = place.value
  if (subject.value.view !== view || subject.value.text !== text) subject.value = { view, text }
}

effect(() => {
  const { view } = place.value
  const name = view[0]?.toUpperCase() + view.slice(1)
  const shown = subject.value.view === view ? subject.value.text : ''
  document.title = [shown, name, product].filter(Boolean).join(' · ')
})
