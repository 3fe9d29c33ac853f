/**
 * Postgres channels that invalidate caches. Database triggers send the notices, so that no writer can omit them:
 * `access_changed` with the id of an API key, `device_changed` with the device or token whose authorization changed.
 */
export const accessChangedChannel = 'access_changed'
export const deviceChangedChannel = 'device_changed'
