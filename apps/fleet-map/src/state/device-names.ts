import { all } from '../api/client.ts'
import { useResource } from '../components/resource.ts'

const mostNames = 2_000

/** Returns a function from device id to name. Older devices than the newest 2,000 get the end of their id as name. */
export function useDeviceNames(organizationId: string): (deviceId: string) => string {
  const names = useResource(`names ${organizationId}`, async () => {
    const devices = await all('/devices', { orgId: organizationId }, mostNames)
    return new Map(devices.map((device) => [device.id, device.name]))
  })
  return (deviceId) => names.value?.get(deviceId) ?? `… ${deviceId.slice(-12)}`
}
