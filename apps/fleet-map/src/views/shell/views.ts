import type { IconName } from '../../components/icon.tsx'

type ShownView = {
  view: string
  label: string
  icon: IconName
  /** In the bar of a phone; the others are behind "More". */
  onPhone?: true
}

/** The views of the navigation, in its order. */
export const views: readonly ShownView[] = [
  { view: 'map', label: 'Map', icon: 'map', onPhone: true },
  { view: 'overview', label: 'Overview', icon: 'overview' },
  { view: 'devices', label: 'Devices', icon: 'devices', onPhone: true },
  { view: 'groups', label: 'Groups', icon: 'groups' },
  { view: 'profiles', label: 'Profiles', icon: 'profiles' },
  { view: 'jobs', label: 'Jobs', icon: 'jobs', onPhone: true },
  { view: 'alerts', label: 'Alerts', icon: 'alerts', onPhone: true },
  { view: 'settings', label: 'Settings', icon: 'settings' },
]
