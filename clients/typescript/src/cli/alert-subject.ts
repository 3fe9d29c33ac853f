import type { components } from '../openapi.ts'

type Alert = Pick<components['schemas']['Alert'], 'deviceId' | 'deviceName' | 'measured'>

/** The name of the device or webhook that an alert is about, or the id of a device of another organization. */
export const alertSubject = ({ deviceId, deviceName, measured }: Alert): string =>
  deviceName ?? deviceId ?? String(measured.webhook)
