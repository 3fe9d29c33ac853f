import { type DeviceIdentity, identityKinds } from '#device-edge/gateway'
import { type Protocol, protocols } from '../protocol.ts'
import { deviceOfLevel } from './topic-level.ts'

/** Which topics carry reports of a protocol. `parameter`: the last level names the value that the payload holds. */
export type TopicRule = { pattern: string; protocol: Protocol; parameter?: true }

/** The topics of telemetry. `{serial}`, `{imei}` and `{mac}` stand for the level that names the device, `+` for any level. */
export const telemetryTopics: readonly TopicRule[] = [
  { pattern: 'routerfleet/{serial}/telemetry', protocol: 'routerfleet' },
  { pattern: 'teltonika/{serial}/data', protocol: 'teltonika' },
  { pattern: 'router/{serial}/{parameter}', protocol: 'teltonika', parameter: true },
  { pattern: 'v1/{serial}/+/info', protocol: 'inhand' },
  { pattern: 'modemmanager/{serial}/+', protocol: 'modemmanager' },
  { pattern: 'gpsd/{serial}/+', protocol: 'gpsd' },
  { pattern: 'cradlepoint/{serial}/diagnostics', protocol: 'cradlepoint' },
]

const placeholder = /\{(\w+)\}/g

/** Parses `pattern=protocol`, such as `fleet/{imei}/data=teltonika`. Undefined if it is not valid. */
export function parseTopicRule(text: string): TopicRule | undefined {
  const [pattern = '', name] = text.split('=', 2)
  const protocol = protocols.find((known) => known === name)
  const names = [...pattern.matchAll(placeholder)].map(([, kind]) => kind)
  const [kind] = names
  const isKnown = names.length === 1 && identityKinds.some((known) => known === kind)
  return protocol && isKnown && !pattern.includes('#') ? { pattern, protocol } : undefined
}

/** Returns the filter to subscribe to. */
export const filterOf = ({ pattern }: Pick<TopicRule, 'pattern'>): string => pattern.replaceAll(placeholder, '+')

/** `level`: the level of the topic that names the device, as it was sent. */
export type TopicMatch = { device: DeviceIdentity; level: string; parameter: string | undefined }

/** Compiles a pattern. The function returns undefined for a topic that does not match or names no device. */
export function compileTopic({ pattern }: Pick<TopicRule, 'pattern'>): (topic: string) => TopicMatch | undefined {
  const levels = pattern.split('/').map((level) => ({ level, name: /^\{(\w+)\}$/.exec(level)?.[1] }))
  return (topic) => {
    const sent = topic.split('/')
    if (sent.length !== levels.length) return undefined
    let match: Pick<TopicMatch, 'device' | 'level'> | undefined
    let parameter: string | undefined
    for (const [index, { level, name }] of levels.entries()) {
      const value = sent[index] ?? ''
      if (name === 'parameter') parameter = value
      else if (name !== undefined) {
        const kind = identityKinds.find((known) => known === name)
        const device = kind && deviceOfLevel(kind, value)
        if (!device) return undefined
        match = { device, level: value }
      } else if (level !== '+' && level !== value) return undefined
    }
    return match && { ...match, parameter }
  }
}
