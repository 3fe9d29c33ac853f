export const deviceStatuses = ['online', 'offline', 'provisioning', 'error', 'disabled'] as const
export type DeviceStatus = (typeof deviceStatuses)[number]

export type StatusChange = { deviceId: string; organizationId: string; from: DeviceStatus; to: DeviceStatus }
