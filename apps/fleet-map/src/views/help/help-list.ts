import type { PageAddress } from '../../state/url.ts'

/** The pages of docs/ that the help shows, by their file names, with short titles. */
export const helpGroups = {
  'Use the fleet': {
    'device-lists': 'Device lists',
    alerts: 'Alerts and places',
    jobs: 'Jobs',
    'config-profiles': 'Config profiles',
    'route-forecast': 'Dead zones and routes',
    'radio-health': 'Radio health',
    'sim-advice': 'SIM advice',
    'map-background': 'Map background',
    'sign-in': 'Sign-in and people',
    limits: 'Limits',
    glossary: 'Glossary',
  },
  'Connect routers': {
    'openwrt-agent': 'OpenWrt agent',
    'router-agent': 'Router agent',
    gateway: 'Gateway',
    adapters: 'Adapters',
    'device-protocol': 'Device protocol',
  },
  Integrate: {
    walkthrough: 'First steps with the API',
    webhooks: 'Webhooks',
    'command-line': 'Command line',
    'typescript-client': 'TypeScript client',
    'python-client': 'Python client',
    'vector-tiles': 'Vector tiles',
    'ogc-features': 'OGC API – Features',
    parquet: 'Parquet',
    mcp: 'Assistants (MCP)',
    versioning: 'Versions',
  },
  Operate: {
    operations: 'Operations',
    settings: 'Settings',
    capacity: 'Capacity',
    kubernetes: 'Kubernetes',
  },
} as const

/** The pages of the help with their titles, in their order. */
export const helpPages: readonly [page: string, title: string][] = Object.values(helpGroups).flatMap((pages) =>
  Object.entries(pages),
)

const pagesOfViews: Record<string, string> = {
  map: 'route-forecast',
  overview: 'radio-health',
  devices: 'device-lists',
  device: 'radio-health',
  groups: 'device-lists',
  profiles: 'config-profiles',
  jobs: 'jobs',
  alerts: 'alerts',
  connect: 'openwrt-agent',
}

const pagesOfSettings: Record<string, string> = {
  organization: 'limits',
  'enrollment-keys': 'device-protocol',
  webhooks: 'webhooks',
  map: 'map-background',
}

/** Returns the page of the help that explains a view. */
export function helpFor({ view, params }: PageAddress): string {
  if (view === 'settings') return pagesOfSettings[params.section ?? 'organization'] ?? 'sign-in'
  if (view === 'map' && params.as === 'table') return 'device-lists'
  return pagesOfViews[view] ?? 'glossary'
}
