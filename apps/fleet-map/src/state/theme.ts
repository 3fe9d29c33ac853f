import { effect, signal } from '@preact/signals'

export type Theme = 'dark' | 'light'

const storageKey = 'routerfleet.theme'
const system = matchMedia('(prefers-color-scheme: light)')
const stored = localStorage.getItem(storageKey)

export const theme = signal<Theme>(stored === 'dark' || stored === 'light' ? stored : system.matches ? 'light' : 'dark')

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

system.addEventListener('change', () => {
  if (localStorage.getItem(storageKey) === null) theme.value = system.matches ? 'light' : 'dark'
})

export function toggleTheme(): void {
  theme.value = theme.value === 'dark' ? 'light' : 'dark'
  localStorage.setItem(storageKey, theme.value)
}
