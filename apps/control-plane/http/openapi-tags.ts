/** The groups of routes in the API reference, with a description of each. */
export const tagDescriptions = {
  Organizations: 'Customers of the service, their subscriptions, their use of it, and the record of their changes.',
  Access: 'API keys for integrations, enrollment keys for routers, and access tokens.',
  People: 'Who works with an organization, in which role, and invitations.',
  'Sign-in': 'Sessions of people in the web page, by a link, an API key or an OpenID provider.',
  Devices: 'The registry of routers: single devices, import, export and transfer between organizations.',
  Groups: 'Groups of devices: explicit members, and all devices with a tag.',
  'Saved views': 'Named views of the page that the members of an organization share.',
  Places: 'Named areas, such as depots and ports, that filter positions, coverage and dwells.',
  'Config profiles': 'Settings for routers with versions and encrypted secrets, and their application to devices.',
  Firmware: 'A catalogue of firmware files, with their checksums and the models they are for.',
  Jobs: 'Commands for routers, such as reboots and firmware updates, and batches of them.',
  Alerts: 'Rules for conditions that need attention, the alerts they raise, and the inbox.',
  Webhooks: 'Signed notifications of events to your own server.',
  Telemetry: 'The latest values and the history of one router.',
  'Radio health': 'How the modems of routers receive beside those of other routers in the same place.',
  'Fleet GPS': 'Positions, signal, coverage, dwells, dead zones and vector tiles of many routers.',
  'OGC API': 'The fleet as features for QGIS, GDAL and other programs, by OGC API – Features Part 1.',
  'Device edge': 'What a router calls with its device token: enrollment, reports, jobs and its config.',
  Adapters: 'Telemetry in the protocols of other makers and tools.',
  Operations: 'Health, metrics and this documentation.',
} as const

export type Tag = keyof typeof tagDescriptions
