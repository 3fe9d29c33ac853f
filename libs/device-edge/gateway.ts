import { badRequest } from '#core/errors'

// How a gateway says for which device it speaks. It authenticates with an enrollment key that has `allowGateway`.

/** The device of a request: `serial=…`, `imei=…` or `mac=…`, with the value percent-encoded. */
export const gatewayDeviceHeader = 'routerfleet-device'

/** When the gateway received a report, in epoch milliseconds. Retries have the same time, so they are stored once. */
export const gatewayReceivedHeader = 'routerfleet-received-at'

export const identityKinds = ['serial', 'imei', 'mac'] as const
type IdentityKind = (typeof identityKinds)[number]

/** What identifies a device in an organization. */
export type DeviceIdentity = { kind: IdentityKind; value: string }

/** Its check digit is not checked: networks do not transmit it, and many modems have 0 in its place. */
const imeiText = /^\d{15}$/
/** An odd first byte is the address of a group, such as that of a broadcast. */
const macText = /^[0-9a-f][02468ace][0-9a-f]{10}$/
/** The MAC address of no device. Some tools send it instead of the real one. */
const noMac = '000000000000'
const noImei = '000000000000000'

/** Returns the identifier in its stored form; undefined if it is not valid. */
export function normalizeIdentity(kind: IdentityKind, text: string): DeviceIdentity | undefined {
  const value = kind === 'mac' ? text.trim().toLowerCase().replaceAll(/[:.-]/g, '') : text.trim()
  if (kind === 'imei') return imeiText.test(value) && value !== noImei ? { kind, value } : undefined
  if (kind === 'mac') return macText.test(value) && value !== noMac ? { kind, value } : undefined
  return value.length > 0 && value.length <= 64 ? { kind, value } : undefined
}

/** Returns the value of the header. */
export const identityHeader = ({ kind, value }: DeviceIdentity): string => `${kind}=${encodeURIComponent(value)}`

/** Reads the header. Throws 400. */
export function parseIdentityHeader(text: string): DeviceIdentity {
  const [kind, encoded = ''] = text.split('=', 2)
  const known = identityKinds.find((one) => one === kind)
  const identity = known && normalizeIdentity(known, decode(encoded))
  if (identity) return identity
  throw badRequest(`The header ${gatewayDeviceHeader} must be serial=…, imei=… or mac=….`)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}
