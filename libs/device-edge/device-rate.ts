/**
 * The name of a device's rate in `RateLimit-Policy`. It tells a gateway that this one device is over its rate: other responses
 * with 429 concern the gateway itself or the service.
 */
export const devicePolicy = 'device'

/** Whether a response says that the device is over its rate. */
export const isOverDeviceRate = (status: number, policy: unknown): boolean =>
  status === 429 && typeof policy === 'string' && policy.startsWith(`"${devicePolicy}"`)
