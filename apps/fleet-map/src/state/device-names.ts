import { all } from '../api/client.ts'
import type { Device } from '../api/types.ts'
import { useResource } from '../components/resource.ts'

const mostNames = 2_000

/** Names of an organization's newest 2,000 devices by id; others are shown by the end of their id. */
export function useDeviceNames(organizationId: string): (deviceId: string) => string {
  const names = useResource(`names ${organizationId}`, async () => {
    const devices = await all<Device>('/devices', { orgId: organizationId }, mostNames)
    return new Map(devices.map((device) => [device.id, device.name]))
  })
  return (deviceId) => names.value?.get(deviceId) ?? `… ${deviceId.slice(-12)}`
}
