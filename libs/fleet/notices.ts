/**
 * Postgres channels on which the database tells what caches must forget. Triggers send them, so that no writer can
 * forget to: `access_changed` with an API key's id, `device_changed` with what a device token's answer depends on.
 */
export const accessChangedChannel = 'access_changed'
export const deviceChangedChannel = 'device_changed'
