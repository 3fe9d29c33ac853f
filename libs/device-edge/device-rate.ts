/**
 * The name of a device's rate in `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). It tells a gateway that this one
 * device is over its rate: other responses with 429 concern the gateway itself or the service.
 */
const devicePolicy = '"device"'

/** Returns the headers of a response to a device that is over its rate. */
export const deviceRateHeaders = (requestsPerMinute: number, waitSeconds: number): Record<string, string> => ({
  'RateLimit-Policy': `${devicePolicy};q=${requestsPerMinute};w=60`,
  RateLimit: `${devicePolicy};r=0;t=${waitSeconds}`,
})

/** Whether a response says that the device is over its rate. */
export const isOverDeviceRate = (status: number, policy: unknown): boolean =>
  status === 429 && typeof policy === 'string' && policy.startsWith(devicePolicy)
