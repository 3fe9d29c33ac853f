import { isObject } from './profile-settings.ts'

/** A setting that the form shows as a field. The settings of a profile are free; these are the ones that most routers have. */
export type KnownSetting = {
  /** The section of the setting, and the names that routers use for it. The first one is the default. */
  path: [section: string, ...names: string[]]
  label: string
  kind: 'text' | 'number' | 'boolean' | 'secret' | 'choice'
  choices?: string[]
  min?: number
  max?: number
  /** What a text must match, and the sentence for one that does not. */
  format?: { pattern: RegExp; about: string }
}

export const knownSections: { title: string; settings: KnownSetting[] }[] = [
  {
    title: 'Wi-Fi',
    settings: [
      { path: ['wifi', 'enabled'], label: 'Enabled', kind: 'boolean' },
      { path: ['wifi', 'ssid'], label: 'Network name (SSID)', kind: 'text' },
      {
        path: ['wifi', 'password', 'wifiPassword', 'passphrase'],
        label: 'Password',
        kind: 'secret',
        // IEEE 802.11: a passphrase or a key.
        format: { pattern: /^(?:[ -~]{8,63}|[0-9A-Fa-f]{64})$/, about: 'A Wi-Fi password has 8 to 63 characters.' },
      },
      { path: ['wifi', 'security'], label: 'Security', kind: 'choice', choices: ['wpa2', 'wpa3', 'wpa2-wpa3'] },
      { path: ['wifi', 'channel'], label: 'Channel', kind: 'number', min: 1, max: 196 },
    ],
  },
  {
    title: 'Mobile connection',
    settings: [
      { path: ['mobile', 'apn'], label: 'APN', kind: 'text' },
      { path: ['mobile', 'username'], label: 'User name', kind: 'text' },
      { path: ['mobile', 'password'], label: 'Password', kind: 'secret' },
      { path: ['mobile', 'roaming'], label: 'Roaming', kind: 'boolean' },
    ],
  },
  {
    title: 'Reports',
    settings: [
      { path: ['reporting', 'everySeconds'], label: 'Interval in seconds', kind: 'number', min: 1, max: 86_400 },
    ],
  },
]

type Settings = { [key: string]: unknown }

/** The name under which settings have a value, or else the default name. */
function nameIn(settings: Settings, [section, ...names]: KnownSetting['path']): string {
  const inner = settings[section]
  return names.find((name) => isObject(inner) && name in inner) ?? names[0] ?? ''
}

/** What is wrong with a setting, as the service would say it. */
type SettingFault = { pointer: string; code: string; detail: string }

/** The place of a setting in the body of a request, without the slash that a JSON pointer begins with. */
export const memberOf = (settings: Settings, path: KnownSetting['path']): string =>
  `settings/${path[0]}/${nameIn(settings, path)}`

/** Finds texts that do not have the format of their setting. A text with a variable gets its value later, so it is not checked. */
export function settingFaults(settings: Settings): SettingFault[] {
  return knownSections.flatMap((section) =>
    section.settings.flatMap(({ path, format }) => {
      const value = readSetting(settings, path)
      const text = isObject(value) ? value.$secret : value
      if (!format || typeof text !== 'string' || text.includes('${') || format.pattern.test(text)) return []
      return [{ pointer: memberOf(settings, path), code: 'format', detail: format.about }]
    }),
  )
}

/** The words of a setting with this path, such as `wifi.ssid`; undefined for one that the page does not know. */
export function labelOf(path: string): string | undefined {
  for (const { title, settings } of knownSections)
    for (const { path: known, label } of settings) {
      const [section, ...names] = known
      if (names.some((name) => `${section}.${name}` === path)) return `${title}: ${label}`
    }
  return undefined
}

export function readSetting(settings: Settings, path: KnownSetting['path']): unknown {
  const inner = settings[path[0]]
  return isObject(inner) ? inner[nameIn(settings, path)] : undefined
}

/** Returns settings with one value changed; undefined removes it, and a section without values. */
export function writeSetting(settings: Settings, path: KnownSetting['path'], value: unknown): Settings {
  const [section] = path
  const before = settings[section]
  const inner = isObject(before) ? { ...before } : {}
  const name = nameIn(settings, path)
  if (value === undefined) delete inner[name]
  else inner[name] = value
  const next = { ...settings, [section]: inner }
  if (Object.keys(inner).length === 0) delete next[section]
  return next
}
